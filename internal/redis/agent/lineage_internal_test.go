package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// stored reads what the data directory claims.
func (r *rig) stored() *facts.Stored {
	r.Helper()
	r.engine.lineage.wait()
	s, err := r.engine.lineage.read()
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// addData makes the data directory one with data.
func (r *rig) addData() {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.engine.opt.DataDir, "dump.rdb"), []byte("data"), 0o600); err != nil {
		r.Fatal(err)
	}
}

func TestAnEmptyDirectoryClaimsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mustApply(wire.RolePrimary)
	r.facts()
	for _, name := range []string{"temp-12.rdb", "lost+found", ".snapshot"} {
		if err := os.WriteFile(filepath.Join(r.engine.opt.DataDir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s := r.stored(); s != nil {
		t.Errorf("claims %+v", s)
	}
}

func TestDataWithoutARecordIsNotEmpty(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.addData()
	if s := r.stored(); s == nil || s.ReplID != "" {
		t.Errorf("claims %+v", s)
	}
	if err := os.WriteFile(r.engine.lineage.path, []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := r.stored(); s == nil || s.ReplID != "" {
		t.Errorf("a broken record claims %+v", s)
	}
}

func TestALineageIsRecordedOnceASecond(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.addData()
	r.mustApply(wire.RolePrimary)
	r.facts()
	first := r.stored()
	if first == nil || !first.WasPrimary || first.Cluster != "uid" || first.Epoch != 1 || first.ReplID == "" {
		t.Fatalf("claims %+v", first)
	}
	session, err := r.server.Login("", "app")
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Write("a", "1"); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(keepEvery - time.Millisecond)
	r.facts()
	if s := r.stored(); *s != *first {
		t.Errorf("recorded again too early: %+v", s)
	}
	r.now = r.now.Add(time.Millisecond)
	r.facts()
	if s := r.stored(); s.Offset <= first.Offset || s.Keys != 1 {
		t.Errorf("not recorded: %+v", s)
	}
}

func TestAnIdleServerKeepsTheDiskQuiet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	state := protocol.State{Role: protocol.RolePrimary, ReplID: "one", Offset: 100, Changes: 7}
	note := func(after time.Duration, s protocol.State, links int64) int64 {
		t.Helper()
		r.now = r.now.Add(after)
		r.engine.lineage.keep(s, version{changes: s.Changes, links: links}, 1)
		r.engine.lineage.wait()
		return r.engine.lineage.kept.Offset
	}
	if got := note(0, state, 0); got != 100 {
		t.Fatalf("recorded offset %d", got)
	}
	state.Offset = 114 // the engine's own message
	if got := note(2*time.Second, state, 0); got != 100 {
		t.Errorf("recorded offset %d of an idle server", got)
	}
	state.Offset, state.Changes = 150, 8
	if got := note(time.Second, state, 0); got != 150 {
		t.Errorf("recorded offset %d after a write", got)
	}
	state.Offset = 164
	if got := note(time.Second, state, 1); got != 164 {
		t.Errorf("recorded offset %d after a new link", got)
	}
	state.Offset = 178
	if got := note(keepIdleEvery, state, 1); got != 178 {
		t.Errorf("recorded offset %d after a long time", got)
	}
}

func TestAHeldServerKeepsTheRecordOfItsData(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.addData()
	r.mustApply(wire.RolePrimary)
	r.facts()
	before := r.stored()

	// The server dies and comes back, held, with a lineage of its own.
	r.server.Kill()
	r.server = r.network.Start(address(7001))
	r.boot()
	r.now = r.now.Add(time.Minute)
	f := r.facts()
	if f.Stored == nil || *f.Stored != *before {
		t.Errorf("facts claim %+v, want %+v", f.Stored, before)
	}
	if s := r.stored(); *s != *before {
		t.Errorf("a held server changed the record to %+v", s)
	}
	r.mustApply(wire.RolePrimary)
	f = r.facts()
	if *f.Stored != *before {
		t.Errorf("facts claim %+v after the promotion", f.Stored)
	}
	if s := r.stored(); s.ReplID != f.ReplID {
		t.Errorf("a new primary's record is %+v", s)
	}
}

func TestLeftoversOfKilledChildrenAreCleared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	keep, clear := filepath.Join(r.engine.opt.DataDir, "dump.rdb"), filepath.Join(r.engine.opt.DataDir, "temp-77.rdb")
	for _, path := range []string{keep, clear} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.boot()
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(clear); err == nil {
		t.Error("the leftover is still there")
	}
}
