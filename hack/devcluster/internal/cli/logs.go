package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func logsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "logs [COMPONENT]",
		Short: "Print the log of a component, or list the components",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dirs, err := o.dirs()
			if err != nil {
				return err
			}
			components := map[string]string{
				"host": filepath.Join(dirs.Host(), "init.log"), "control-plane": filepath.Join(dirs.ControlPlane(), "init.log"),
			}
			files, err := filepath.Glob(filepath.Join(dirs.Logs(), "*.log"))
			if err != nil {
				return fmt.Errorf("list logs: %w", err)
			}
			for _, file := range files {
				components[strings.TrimSuffix(filepath.Base(file), ".log")] = file
			}
			if len(args) == 0 {
				return listComponents(cmd, components)
			}
			return printLog(cmd.OutOrStdout(), args[0], components)
		},
	}
}

func listComponents(cmd *cobra.Command, components map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(components)) {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), name); err != nil {
			return fmt.Errorf("list components: %w", err)
		}
	}
	return nil
}

func printLog(out io.Writer, component string, components map[string]string) error {
	path, known := components[component]
	if !known {
		return fmt.Errorf("there is no component %s: devcluster logs lists them", component)
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no log: is the cluster up?", component)
	}
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", component, err)
	}
	defer file.Close()
	if _, err := io.Copy(out, file); err != nil {
		return fmt.Errorf("print the log of %s: %w", component, err)
	}
	return nil
}
