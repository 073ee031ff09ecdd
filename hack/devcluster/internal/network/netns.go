package network

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
)

// namespaceDir is where named network namespaces are mounted, as `ip netns`
// does it, so that people can look inside with the tools they know.
const namespaceDir = "/run/netns"

// NamespacePath is the file that stands for a named network namespace.
func NamespacePath(name string) string { return filepath.Join(namespaceDir, name) }

// In runs work inside the network namespace behind path. The calling goroutine
// is locked to its thread for that time, so work may start processes (they are
// born there) but must not hand anything to other goroutines.
func In(path string, work func() error) (err error) {
	target, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("open network namespace %s: %w", path, err)
	}
	defer target.Close()
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("open own network namespace: %w", err)
	}
	defer home.Close()
	defer func() {
		// A thread that cannot go home stays locked, and dies with its goroutine.
		if back := netns.Set(home); back != nil {
			err = errors.Join(err, fmt.Errorf("leave network namespace %s: %w", path, back))
			return
		}
		runtime.UnlockOSThread()
	}()
	if err := netns.Set(target); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", path, err)
	}
	return work()
}

// ensureNamespace makes a named network namespace unless it is there.
func ensureNamespace(name string) error {
	if namespaceAlive(name) {
		return nil
	}
	// A plain file of that name is what a crash between two steps leaves.
	_ = netns.DeleteNamed(name)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		return fmt.Errorf("open own network namespace: %w", err)
	}
	defer home.Close()
	made, err := netns.NewNamed(name)
	if err != nil {
		return errors.Join(fmt.Errorf("make network namespace %s: %w", name, err), netns.Set(home))
	}
	defer made.Close()
	if err := netns.Set(home); err != nil {
		return fmt.Errorf("leave network namespace %s: %w", name, err)
	}
	return nil
}

func namespaceAlive(name string) bool {
	handle, err := netns.GetFromName(name)
	if err != nil {
		return false
	}
	defer handle.Close()
	// A plain file can be opened too; entering it tells the difference.
	return In(NamespacePath(name), func() error { return nil }) == nil
}

// Namespaces lists the network namespaces of a cluster, from what is there and
// not from any record.
func Namespaces() ([]string, error) {
	entries, err := os.ReadDir(namespaceDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list network namespaces: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), Prefix) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}
