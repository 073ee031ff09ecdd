package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newInstallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install DIR",
		Short: "Copy this binary into DIR, for the container that has another image",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return install(args[0]) },
	}
}

// install copies the running binary. The copy gets its name when it is whole: an init container
// may be stopped half-way and run again.
func install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the agent's binary: %w", err)
	}
	source, err := os.Open(self)
	if err != nil {
		return fmt.Errorf("open the agent's binary: %w", err)
	}
	defer source.Close()
	target := filepath.Join(dir, "agent")
	next, err := os.OpenFile(target+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("install the agent: %w", err)
	}
	_, err = io.Copy(next, source)
	if err = errors.Join(err, next.Close()); err != nil {
		return fmt.Errorf("install the agent: %w", err)
	}
	if err := os.Rename(target+".new", target); err != nil {
		return fmt.Errorf("install the agent: %w", err)
	}
	return nil
}
