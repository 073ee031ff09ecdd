package cli

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/cluster"
)

func nodeCommand(o *options) *cobra.Command {
	parent := &cobra.Command{Use: "node", Short: "Take a node's power or time away, and give it back"}
	for _, action := range []struct {
		use, short string
		run        func(*cluster.Cluster, string) error
	}{
		{"stop", "Cut the power: silence on the wire, every process gone, the disk kept", (*cluster.Cluster).StopNode},
		{"start", "Give power back", (*cluster.Cluster).StartNode},
		{"freeze", "Stop every process of the node in its tracks", (*cluster.Cluster).FreezeNode},
		{"thaw", "Let a frozen node go on", (*cluster.Cluster).ThawNode},
	} {
		parent.AddCommand(&cobra.Command{
			Use:   action.use + " NODE",
			Short: action.short,
			Args:  cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				c, err := o.openAsRoot(cmd)
				if err != nil {
					return err
				}
				return action.run(c, args[0])
			},
		})
	}
	return parent
}
