package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// initGroup is the subgroup for the machine's own processes. The second version
// allows processes in leaves only, and pods get groups beside it.
const initGroup = "system"

const pollInterval = 5 * time.Millisecond

// Hierarchy is the control groups of this machine.
type Hierarchy struct {
	// roots are the mount points: one for the second version, one per
	// controller for the first.
	roots []string
	// ledger is the root in which processes are listed and frozen.
	ledger string
	// freezer knows the files of this version.
	freezer freezer
	// unified is true for the second version.
	unified bool
	// beside are mounts of the second version on a machine that uses the first:
	// container runtimes make groups there too, which have to be removed.
	beside []string
}

// Detect reads from the table of mounts which control groups there are.
func Detect() (*Hierarchy, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read the table of mounts: %w", err)
	}
	return fromMounts(string(table))
}

func fromMounts(table string) (*Hierarchy, error) {
	h := &Hierarchy{freezer: freezerV1}
	var unified []string
	for line := range strings.Lines(table) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup":
			h.roots = append(h.roots, fields[4])
			if slices.Contains(strings.Split(kind[2], ","), "freezer") {
				h.ledger = fields[4]
			}
		case "cgroup2":
			unified = append(unified, fields[4])
		}
	}
	if len(h.roots) == 0 && len(unified) > 0 {
		return &Hierarchy{roots: unified[:1], ledger: unified[0], freezer: freezerV2, unified: true}, nil
	}
	h.beside = unified
	if h.ledger == "" {
		return nil, errors.New("no cgroup freezer is mounted: mount the cgroup hierarchies under /sys/fs/cgroup")
	}
	return h, nil
}

// Unified says whether this is the second version of control groups.
func (h *Hierarchy) Unified() bool { return h.unified }

// Create makes the group of a machine in every hierarchy.
func (h *Hierarchy) Create(name string) error {
	for _, root := range h.roots {
		if err := h.createIn(root, name); err != nil {
			return fmt.Errorf("make control group %s under %s: %w", name, root, err)
		}
	}
	return nil
}

func (h *Hierarchy) createIn(root, name string) error {
	for _, dir := range []string{filepath.Join(root, name), filepath.Join(root, name, initGroup)} {
		if h.unified {
			// Children have only the controllers that their parent hands down.
			if err := delegate(filepath.Dir(dir)); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		// A new cpuset group of the first version is empty and takes no process.
		if err := inheritCPUSet(dir); err != nil {
			return err
		}
	}
	return nil
}

func delegate(dir string) error {
	available, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range strings.Fields(string(available)) {
		// Some controllers cannot be handed down on some machines; the kubelet
		// names those that it misses.
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
	return nil
}

func inheritCPUSet(dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		own, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) || strings.TrimSpace(string(own)) != "" {
			continue
		}
		if err != nil {
			return err
		}
		parent, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if err != nil {
			return err
		}
		// The second version inherits by itself, and there an empty value is right.
		if strings.TrimSpace(string(parent)) == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, file), parent, 0); err != nil {
			return err
		}
	}
	return nil
}

// Join moves a process into the group; what it starts later is born there.
func (h *Hierarchy) Join(name string, pid int) error {
	for _, root := range h.roots {
		file := filepath.Join(root, name, initGroup, "cgroup.procs")
		if err := os.WriteFile(file, []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("move process %d into control group %s: %w", pid, name, err)
		}
	}
	return nil
}

// Procs lists the processes of the group and of all groups below it.
func (h *Hierarchy) Procs(name string) ([]int, error) {
	var pids []int
	err := filepath.WalkDir(filepath.Join(h.ledger, name), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.IsDir() {
			return err
		}
		found, err := readPids(filepath.Join(path, "cgroup.procs"))
		pids = append(pids, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list processes of control group %s: %w", name, err)
	}
	return pids, nil
}

func readPids(file string) ([]int, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, field := range strings.Fields(string(content)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		// Zero is a process of a namespace that we do not see into.
		if pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Kill ends every process of the group and returns when none is left.
func (h *Hierarchy) Kill(name string, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		// A frozen process does not hear a signal. New ones may be born while
		// we kill, hence the loop.
		if err := h.Thaw(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		pids, err := h.Procs(name)
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("control group %s still has processes %v after %s", name, pids, patience)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(pollInterval)
	}
}

// all are the mount points in which groups of ours may be.
func (h *Hierarchy) all() []string { return slices.Concat(h.roots, h.beside) }

// Names lists the groups whose names begin with prefix, from what is there.
func (h *Hierarchy) Names(prefix string) ([]string, error) {
	found := map[string]bool{}
	for _, root := range h.all() {
		entries, err := os.ReadDir(root)
		if err != nil {
			return nil, fmt.Errorf("list control groups: %w", err)
		}
		for _, entry := range entries {
			if entry.IsDir() && strings.HasPrefix(entry.Name(), prefix) {
				found[entry.Name()] = true
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// Remove takes an empty group away in every hierarchy, with all below it.
func (h *Hierarchy) Remove(name string) error {
	for _, root := range h.all() {
		if err := removeTree(filepath.Join(root, name)); err != nil {
			return fmt.Errorf("remove control group %s: %w", name, err)
		}
	}
	return nil
}

// removeTree removes directories from the leaves up: the files in a control
// group cannot be removed and need not be.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := removeTree(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return removeSoon(dir)
}

// removeSoon allows for the moment between the end of a process and its leaving
// the group.
func removeSoon(dir string) error {
	const tries = 100
	var err error
	for range tries {
		err = syscall.Rmdir(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(pollInterval)
	}
	return err
}
