package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/process"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

// Down ends everything and leaves nothing but the cache. It works from what it
// finds on the machine, so it also cleans up after a crash, or after a lost
// state directory.
func (c *Cluster) Down() error {
	unlock, err := state.Lock(c.Dirs.Cache, c.sayWaiting)
	if err != nil {
		return err
	}
	defer unlock()
	// The cluster on this machine may have been started with another --state.
	dirs := c.Dirs
	if owner := network.Owner(); owner != "" {
		dirs.State = owner
	}
	steps := []struct {
		label string
		work  func() error
	}{
		{"processes", func() error { return c.endProcesses(dirs) }},
		{"network", network.Remove},
		{"mounts", func() error { return unmountBelow(dirs.State) }},
		{"state", func() error { return removeState(dirs) }},
		{"nothing is left", c.checkNothingLeft},
	}
	for _, step := range steps {
		if err := c.Progress.Step(step.label, step.work); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) endProcesses(dirs state.Dirs) error {
	names, err := c.groups.Names(network.Prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.groups.Kill(name, killPatience); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	c.endRecorded(dirs)
	for _, name := range names {
		if err := c.groups.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// endRecorded ends first processes that are not in their control group, which
// only a crash in the middle of a start can leave.
func (c *Cluster) endRecorded(dirs state.Dirs) {
	records, err := filepath.Glob(filepath.Join(dirs.Nodes(), "*"))
	if err != nil {
		return
	}
	for _, dir := range append(records, dirs.ControlPlane(), dirs.Host()) {
		if id, alive := process.LoadIdentity(process.IdentityFile(dir)); alive {
			_ = unix.Kill(id.PID, unix.SIGKILL)
		}
	}
}

// unmountBelow takes mounts away that lie in the host's own table; nodes have
// theirs elsewhere, so there should be none.
func unmountBelow(dir string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("read the table of mounts: %w", err)
	}
	targets := mountsBelow(string(table), dir)
	for i := len(targets) - 1; i >= 0; i-- {
		if err := unix.Unmount(targets[i], unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", targets[i], err)
		}
	}
	return nil
}

func mountsBelow(table, dir string) []string {
	const targetField = 4
	var targets []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) > targetField && strings.HasPrefix(fields[targetField], dir+"/") {
			targets = append(targets, fields[targetField])
		}
	}
	return targets
}

// removeState removes what the tool made, by name, and the directory only if
// nothing else is in it.
func removeState(dirs state.Dirs) error {
	for _, path := range []string{
		dirs.Kubeconfig(), dirs.PKI(), dirs.Logs(), dirs.ControlPlane(), dirs.Host(),
		dirs.Nodes(), dirs.Cuts(), filepath.Dir(dirs.Self()),
	} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove %s: %w", path, err)
		}
	}
	err := os.Remove(dirs.State)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return err
}

// checkNothingLeft looks for everything that a cluster consists of.
func (c *Cluster) checkNothingLeft() error {
	var left []string
	groups, err := c.groups.Names(network.Prefix)
	if err != nil {
		return err
	}
	for _, name := range groups {
		left = append(left, "control group "+name)
	}
	namespaces, err := network.Namespaces()
	if err != nil {
		return err
	}
	for _, name := range namespaces {
		left = append(left, "network namespace "+name)
	}
	links, err := network.Leftovers()
	if err != nil {
		return err
	}
	for _, name := range links {
		left = append(left, "link "+name)
	}
	if len(left) > 0 {
		return fmt.Errorf("still there: %s", strings.Join(left, ", "))
	}
	return nil
}
