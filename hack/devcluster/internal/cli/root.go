package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/cluster"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/progress"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

const (
	stateDirName = ".devcluster"
	cacheDirName = "holdfast-devcluster"
)

// options are the flags that every command has.
type options struct {
	state string
	cache string
}

// Root is the command with all others below it.
func Root() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:           "devcluster",
		Short:         "A real Kubernetes cluster on one Linux machine",
		SilenceUsage:  true,
		SilenceErrors: true,
		// What the client library has to say while a server comes up is noise:
		// what matters comes back as an error.
		PersistentPreRun: func(*cobra.Command, []string) { klog.SetLogger(logr.Discard()) },
	}
	root.PersistentFlags().StringVar(&o.state, "state", "", "directory of the running cluster (default <repository>/"+stateDirName+")")
	root.PersistentFlags().StringVar(&o.cache, "cache", "", "directory of built parts and images (default the user's cache directory)")
	root.AddCommand(
		upCommand(o), downCommand(o), statusCommand(o), imagesCommand(o), assetsCommand(o), serversCommand(o),
		nodeCommand(o), netCommand(o), loadCommand(o), logsCommand(o), initCommand(), serveCommand(o),
	)
	return root
}

// open finds the directories and makes the cluster's handle.
func (o *options) open(cmd *cobra.Command) (*cluster.Cluster, error) {
	dirs, err := o.dirs()
	if err != nil {
		return nil, err
	}
	return cluster.New(dirs, progress.New(cmd.OutOrStdout(), time.Now))
}

// openAsRoot is open for commands that change the machine.
func (o *options) openAsRoot(cmd *cobra.Command) (*cluster.Cluster, error) {
	if err := cluster.RequireRoot(); err != nil {
		return nil, err
	}
	return o.open(cmd)
}

func (o *options) dirs() (state.Dirs, error) {
	stateDir, cacheDir := o.state, o.cache
	if stateDir == "" {
		root, err := repository()
		if err != nil {
			return state.Dirs{}, err
		}
		stateDir = filepath.Join(root, stateDirName)
	}
	if cacheDir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return state.Dirs{}, fmt.Errorf("find the user's cache directory: %w: give one with --cache", err)
		}
		cacheDir = filepath.Join(user, cacheDirName)
	}
	return state.New(stateDir, cacheDir)
}

// repository is the top of the working tree that the command was called in.
func repository() (string, error) {
	output, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w: call this inside the working tree, or give a directory with --state", err)
	}
	return strings.TrimSpace(string(output)), nil
}
