package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
)

const placesHelp = `A place is a node (n1), the control plane (cp), the host (host), an address, a pod
(namespace/name), all pods with a label (namespace/label=value), or everybody (all).
A pod that is cut from all is still probed by the kubelet of its node.`

func netCommand(o *options) *cobra.Command {
	parent := &cobra.Command{Use: "net", Short: "Cut nodes and pods off from each other, and heal"}
	parent.AddCommand(cutCommand(o), healCommand(o), cutsCommand(o))
	return parent
}

func cutCommand(o *options) *cobra.Command {
	oneWay := false
	cmd := &cobra.Command{
		Use:   "cut A B...",
		Short: "Drop every packet between A and each B, established connections included",
		Long:  "Drop every packet between A and each B, established connections included.\n\n" + placesHelp,
		Example: "  devcluster net cut n1 n2 n3\n" +
			"  devcluster net cut default/orders-0 holdfast-system/app=manager\n" +
			"  devcluster net cut --one-way default/orders-0 all",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.openAsRoot(cmd)
			if err != nil {
				return err
			}
			direction := network.BothWays
			if oneWay {
				direction = network.OneWay
			}
			moment, err := c.Cut(cmd.Context(), direction, args[0], args[1:])
			return printMoment(cmd, moment, err)
		},
	}
	cmd.Flags().BoolVar(&oneWay, "one-way", false, "only lose what A sends; what B sends arrives")
	return cmd
}

func healCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "heal [A B...]",
		Short: "Take cuts back: those between A and each B, or all",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return cobra.MinimumNArgs(2)(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.openAsRoot(cmd)
			if err != nil {
				return err
			}
			heal := c.HealAll
			if len(args) > 0 {
				heal = func() (time.Time, error) { return c.Heal(args[0], args[1:]) }
			}
			moment, err := heal()
			return printMoment(cmd, moment, err)
		},
	}
}

func cutsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the cuts in force",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			cuts, err := c.Cuts()
			if err != nil {
				return err
			}
			for _, cut := range cuts {
				cmd.Printf("%s %s (%s)\n", cut.A.Name, cut.B.Name, cut.Direction)
			}
			return nil
		},
	}
}
