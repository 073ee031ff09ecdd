package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const tableV1 = `25 1 0:22 / / rw - ext4 /dev/vda rw
30 25 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw
31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 30 0:29 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
33 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`

const tableV2 = `25 1 0:22 / / rw - ext4 /dev/vda rw
30 25 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
`

func TestVersionIsReadFromTheMounts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		table   string
		ledger  string
		unified bool
		refused bool
	}{
		"the first version, with the second one beside it": {tableV1, "/sys/fs/cgroup/freezer", false, false},
		"the second version alone":                         {tableV2, "/sys/fs/cgroup", true, false},
		"none at all":                                      {"25 1 0:22 / / rw - ext4 /dev/vda rw\n", "", false, true},
		"the first version without a freezer": {
			"31 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "", false, true,
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			h, err := fromMounts(c.table)
			if (err != nil) != c.refused {
				t.Fatalf("error %v, refused should be %t", err, c.refused)
			}
			if err == nil && (h.ledger != c.ledger || h.Unified() != c.unified) {
				t.Fatalf("ledger %q, unified %t; want %q, %t", h.ledger, h.Unified(), c.ledger, c.unified)
			}
		})
	}
}

func TestGroupsBesideTheHierarchyAreFoundAndRemoved(t *testing.T) {
	t.Parallel()
	used, beside := t.TempDir(), t.TempDir()
	h := &Hierarchy{roots: []string{used}, ledger: used, beside: []string{beside}}
	for _, dir := range []string{filepath.Join(used, "hf-a/system"), filepath.Join(beside, "hf-b/pod/x"), filepath.Join(beside, "other")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	names, err := h.Names("hf-")
	if err != nil || !slices.Equal(names, []string{"hf-a", "hf-b"}) {
		t.Fatalf("Names = %v, %v", names, err)
	}
	for _, name := range names {
		if err := h.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := h.Names("hf-"); err != nil || len(names) != 0 {
		t.Fatalf("after the removal: %v, %v", names, err)
	}
	if _, err := os.Stat(filepath.Join(beside, "other")); err != nil {
		t.Error("a group of somebody else was removed")
	}
}

// One process of this test lives through join, freeze, thaw and kill.
func TestARealGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: control groups need root")
	}
	detected, err := Detect()
	if err != nil {
		t.Fatal(err)
	}
	hierarchies := map[string]*Hierarchy{"the one in use": detected}
	// Where the second version is mounted beside the first, it can freeze too.
	if len(detected.beside) > 0 {
		hierarchies["the second version beside it"] = &Hierarchy{
			roots: detected.beside, ledger: detected.beside[0], freezer: freezerV2, unified: true,
		}
	}
	for sentence, h := range hierarchies {
		t.Run(sentence, func(t *testing.T) { liveAndDie(t, h) })
	}
}

func liveAndDie(t *testing.T, h *Hierarchy) {
	const name = "devcluster-test"
	if err := h.Create(name); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it was killed, as it should be
	}()
	t.Cleanup(func() {
		if err := h.Kill(name, time.Second); err != nil {
			t.Error(err)
		}
		if err := h.Remove(name); err != nil {
			t.Error(err)
		}
	})
	if err := h.Join(name, cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if pids, err := h.Procs(name); err != nil || !slices.Equal(pids, []int{cmd.Process.Pid}) {
		t.Fatalf("Procs = %v, %v; want %d", pids, err, cmd.Process.Pid)
	}
	for _, step := range []struct {
		do     func(string) error
		frozen bool
	}{{h.Freeze, true}, {h.Freeze, true}, {h.Thaw, false}, {h.Freeze, true}} {
		if err := step.do(name); err != nil {
			t.Fatal(err)
		}
		if frozen, err := h.Frozen(name); err != nil || frozen != step.frozen {
			t.Fatalf("Frozen = %t, %v; want %t", frozen, err, step.frozen)
		}
	}
	// It is frozen now, and must die all the same.
	if err := h.Kill(name, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the process outlived its group")
	}
}
