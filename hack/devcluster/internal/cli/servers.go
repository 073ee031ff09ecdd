package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/cluster"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/progress"
)

func serversCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "servers",
		Short: "Unpack the database servers for tests and print their paths as variables for a shell",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := o.dirs()
			if err != nil {
				return err
			}
			// The variables alone go to the standard output, so that a shell can use them.
			c, err := cluster.New(dirs, progress.New(cmd.ErrOrStderr(), time.Now))
			if err != nil {
				return err
			}
			if err := c.EnsureDatabases(cmd.Context()); err != nil {
				return err
			}
			servers, err := c.Servers(cmd.Context())
			if err != nil {
				return err
			}
			for _, s := range servers {
				fmt.Fprintf(cmd.OutOrStdout(), "export HOLDFAST_%s_SERVER=%s\n", strings.ToUpper(s.Engine), s.Path)
			}
			return nil
		},
	}
}
