package agent

import (
	"os"
	"path/filepath"
	"testing"
)

func openStore(t *testing.T, dir string) *epochStore {
	t.Helper()
	s, err := openEpochStore(dir, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEpochsOnlyRise(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data", ".holdfast")
	s := openStore(t, dir)
	for _, e := range []Epochs{{Seen: 5, Primary: 3}, {Seen: 4, Primary: 4}, {Seen: 5}} {
		if err := s.raise(e); err != nil {
			t.Fatal(err)
		}
	}
	want := Epochs{Cluster: cluster, Seen: 5, Primary: 4}
	if got := openStore(t, dir).load(); got != want {
		t.Errorf("on disk is %+v, want %+v", got, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

func TestAnAdoptedVolumeStartsFromZero(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := openStore(t, dir).raise(Epochs{Seen: 5, Primary: 3}); err != nil {
		t.Fatal(err)
	}
	other, err := openEpochStore(dir, "other")
	if err != nil {
		t.Fatal(err)
	}
	if got := other.load(); got != (Epochs{Cluster: "other"}) {
		t.Errorf("adopted %+v", got)
	}
}

func TestAnEpochThatCannotBeReadIsNotZero(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, epochFile), []byte(`{"cluster":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openEpochStore(dir, cluster); err == nil {
		t.Error("a broken file was read")
	}
}

func TestAnEpochThatCannotBeStoredIsAnError(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := openStore(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.raise(Epochs{Seen: 1}); err == nil || s.load().Seen != 0 {
		t.Errorf("raised with %v to %+v", err, s.load())
	}
}
