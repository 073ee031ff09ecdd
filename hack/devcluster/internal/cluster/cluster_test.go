package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

func TestOnlyMountsBelowTheStateAreTakenAway(t *testing.T) {
	t.Parallel()
	table := `25 1 0:22 / / rw - ext4 /dev/vda rw
40 25 0:23 / /repo/.devcluster/nodes/n1/lib rw - ext4 /dev/vda rw
41 40 0:23 / /repo/.devcluster/nodes/n1/lib/x rw - tmpfs tmpfs rw
42 25 0:23 / /repo/.devcluster-other/x rw - tmpfs tmpfs rw
43 25 0:23 / /repo/.devcluster rw - tmpfs tmpfs rw
`
	want := []string{"/repo/.devcluster/nodes/n1/lib", "/repo/.devcluster/nodes/n1/lib/x"}
	if got := mountsBelow(table, "/repo/.devcluster"); !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

func TestOnlyWhatTheToolMadeIsRemoved(t *testing.T) {
	t.Parallel()
	dirs := state.Dirs{State: t.TempDir(), Cache: t.TempDir()}
	for _, path := range []string{dirs.Kubeconfig(), dirs.Cuts(), filepath.Join(dirs.Node("n1"), "log", "x"), filepath.Join(dirs.State, "mine")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeState(dirs); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dirs.State)
	if err != nil || len(entries) != 1 || entries[0].Name() != "mine" {
		t.Fatalf("left: %v, %v", entries, err)
	}
	if err := os.Remove(filepath.Join(dirs.State, "mine")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is gone already
		if err := removeState(dirs); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dirs.State); !os.IsNotExist(err) {
		t.Errorf("the empty directory is still there: %v", err)
	}
}

func TestNodesAreAddedAndNeverTakenAway(t *testing.T) {
	t.Parallel()
	c := &Cluster{Dirs: state.Dirs{State: t.TempDir()}}
	for _, name := range []string{"n1", "n4", ".lock", "other"} {
		if err := os.MkdirAll(c.Dirs.Node(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range map[int][]int{1: {1, 4}, 3: {1, 2, 3, 4}, 5: {1, 2, 3, 4, 5}} {
		if got, err := c.plan(n); err != nil || !slices.Equal(got, want) {
			t.Errorf("plan(%d) = %v, %v; want %v", n, got, err, want)
		}
	}
}

func TestAPollEndsWithTheLastComplaint(t *testing.T) {
	t.Parallel()
	complaint := errors.New("not yet")
	tries := 0
	if err := poll(t.Context(), time.Minute, func() error {
		if tries++; tries < 2 {
			return complaint
		}
		return nil
	}); err != nil || tries != 2 {
		t.Errorf("%v after %d tries", err, tries)
	}
	if err := poll(t.Context(), 0, func() error { return complaint }); !errors.Is(err, complaint) {
		t.Errorf("error %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := poll(ended, time.Hour, func() error { return complaint }); !errors.Is(err, context.Canceled) || !errors.Is(err, complaint) {
		t.Errorf("error %v", err)
	}
}

func TestTheRecordOfAnImage(t *testing.T) {
	t.Parallel()
	c := &Cluster{Dirs: state.Dirs{Cache: t.TempDir()}}
	want := ImageRecord{Repository: "library/redis", Recipe: "1", Version: "8.0.6", Tags: []string{"8.0.6", "8"}, Digest: "sha256:0"}
	file := c.recordFile(want.Repository)
	if err := want.save(file); err != nil {
		t.Fatal(err)
	}
	got, err := readRecord(file)
	if err != nil || !slices.Equal(got.Names(), []string{"redis:8.0.6", "redis:8"}) {
		t.Fatalf("%v, %v", got.Names(), err)
	}
}
