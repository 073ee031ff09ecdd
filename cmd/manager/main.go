// Command manager is the operator: it decides everything about the clusters and is the only process
// with Kubernetes credentials. This package only wires; start with run.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set by the linker.
var version = "dev"

func main() {
	o := options{}
	cmd := &cobra.Command{
		Use:           "manager",
		Short:         "Run the Holdfast operator",
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			return run(ctrl.SetupSignalHandler(), o)
		},
	}
	o.bind(cmd.Flags())
	if err := cmd.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}
