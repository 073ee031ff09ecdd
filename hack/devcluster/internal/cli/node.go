package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/cluster"
)

// printMoment prints when a fault came into force, for scripts that measure what
// follows from it.
func printMoment(cmd *cobra.Command, moment time.Time, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), moment.UTC().Format(time.RFC3339Nano))
	return err
}

func nodeCommand(o *options) *cobra.Command {
	parent := &cobra.Command{Use: "node", Short: "Take a node's power or time away, and give it back"}
	for _, action := range []struct {
		use, short string
		run        func(*cluster.Cluster, string) (time.Time, error)
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
				moment, err := action.run(c, args[0])
				return printMoment(cmd, moment, err)
			},
		})
	}
	return parent
}
