package cli

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/build"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/cluster"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/process"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/progress"
)

const defaultNodes = 3

func upCommand(o *options) *cobra.Command {
	nodes := defaultNodes
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring the cluster up; what is there already is kept",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.openAsRoot(cmd)
			if err != nil {
				return err
			}
			return c.Up(cmd.Context(), nodes)
		},
	}
	cmd.Flags().IntVar(&nodes, "nodes", defaultNodes, "how many nodes there should be at least")
	return cmd
}

func downCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End everything and leave nothing behind but the cache",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.openAsRoot(cmd)
			if err != nil {
				return err
			}
			return c.Down()
		},
	}
}

func statusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Tell how the machines of the cluster are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			machines, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if len(machines) == 0 {
				cmd.Println("no cluster is up")
				return nil
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			fmt.Fprintln(table, "NAME\tADDRESS\tSTATE\tREADY\tPROCESSES")
			for _, m := range machines {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\n", m.Name, m.Addr, m.State, readiness(m), m.Processes)
			}
			return table.Flush()
		},
	}
}

// readiness is empty for machines that are not nodes.
func readiness(m cluster.MachineStatus) string {
	if strings.HasPrefix(m.Name, "hf-") {
		return "-"
	}
	return fmt.Sprint(m.Ready)
}

func imagesCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "images",
		Short: "Make the images that are missing and list those of databases",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.openAsRoot(cmd)
			if err != nil {
				return err
			}
			if err := c.EnsureParts(cmd.Context()); err != nil {
				return err
			}
			if err := c.EnsureImages(cmd.Context()); err != nil {
				return err
			}
			for _, record := range c.Images() {
				cmd.Println(strings.Join(record.Names(), "  "))
			}
			return nil
		},
	}
}

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:    cluster.CommandInit + " MACHINE",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			machine, err := process.ReadMachine(args[0])
			if err != nil {
				return err
			}
			if err := process.WaitAdmitted(os.Stdin); err != nil {
				return err
			}
			return process.Init(cmd.Context(), machine)
		},
	}
}

func serveCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:    cluster.CommandServe + " MACHINE",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.open(cmd)
			if err != nil {
				return err
			}
			if err := process.WaitAdmitted(os.Stdin); err != nil {
				return err
			}
			return c.Serve(cmd.Context())
		},
	}
}

func assetsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Build what envtest needs and print its directory, for KUBEBUILDER_ASSETS",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := o.dirs()
			if err != nil {
				return err
			}
			// The directory alone goes to the standard output, so that a shell
			// can use it.
			builder := &build.Builder{Dirs: dirs, Progress: progress.New(cmd.ErrOrStderr(), time.Now)}
			dir, err := builder.Assets(cmd.Context())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
}
