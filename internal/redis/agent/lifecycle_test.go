package agent_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	base "github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/realserver"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// serverPID asks the server, so that it is right for wrappers too.
func (m *member) serverPID() int {
	m.w.t.Helper()
	text, err := m.client().Info(m.w.t.Context(), "server").Result()
	if err != nil {
		m.w.t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "process_id:"); ok {
			return number(m.w.t, v)
		}
	}
	m.w.t.Fatal("no process_id")
	return 0
}

func number(t *testing.T, field string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(field))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func refusedWith(err error) string {
	var r *base.Refusal
	if errors.As(err, &r) {
		return r.Answer.Code
	}
	return ""
}

func TestALifeFromHeldToPrimaryToDeath(t *testing.T) {
	t.Parallel()
	realserver.Each(t, func(t *testing.T, p realserver.Program) {
		t.Parallel()
		w := newWorld(t, p)
		m := w.start("shop-0")
		first := m.await("the first record", 5*time.Second, func(r wire.Record) bool { return r.Engine != nil })
		if first.Server.Phase != wire.ServerWaiting || factsOf(first.Record).Stored != nil {
			t.Errorf("a new member says %+v", first.Record)
		}

		held := m.assign(wire.RoleHeld, 1)
		if f := factsOf(held); held.Server.Phase != wire.ServerRunning || f.IsPrimary || f.Following != "" {
			t.Errorf("held: %+v %+v", held.Server, f)
		}
		if _, err := m.client().do("SET", "a", "1"); err == nil || !strings.Contains(err.Error(), "READONLY") {
			t.Errorf("a held server answered a write with %v", err)
		}

		primary := m.assign(wire.RolePrimary, 2)
		if !factsOf(primary).IsPrimary {
			t.Errorf("primary: %+v", factsOf(primary))
		}
		if _, err := m.client().do("SET", "a", "1"); err != nil {
			t.Errorf("write to the primary: %v", err)
		}

		pid := m.serverPID()
		killed := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		down := m.await("the death", 2*time.Second, func(r wire.Record) bool { return r.Server.Phase == wire.ServerDown })
		if took := down.at.Sub(killed); took >= wire.HeartbeatInterval {
			t.Errorf("the death waited for a heartbeat: it came after %s", took)
		} else {
			t.Logf("the death was pushed after %s", took)
		}
		if down.SpentEpoch != 2 || down.AssignmentDigest != "" || down.Server.LastExit != "signal: killed" {
			t.Errorf("down: %+v", down.Record)
		}

		again := m.await("the restart", 5*time.Second, func(r wire.Record) bool {
			return r.Server.Phase == wire.ServerRunning && r.Server.Instance == 2
		})
		if f := factsOf(again.Record); f.IsPrimary || f.Following != "" || again.AssignmentDigest != "" {
			t.Errorf("a restarted server is not held: %+v", f)
		}
		if _, err := m.order(http.MethodPut, wire.PathAssignment, w.assignment(wire.RolePrimary, 2)); refusedWith(err) != wire.CodeStaleEpoch {
			t.Errorf("the dead server's epoch: %v", err)
		}
		if _, err := m.order(http.MethodPut, wire.PathAssignment, w.assignment(wire.RoleHeld, 1)); refusedWith(err) != wire.CodeStaleEpoch {
			t.Errorf("an older epoch: %v", err)
		}
		if r := m.assign(wire.RolePrimary, 3); !factsOf(r).IsPrimary {
			t.Errorf("a higher epoch: %+v", factsOf(r))
		}
	})
}

func TestTheEpochSurvivesTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	m := w.start("shop-0")
	m.assign(wire.RolePrimary, 7)
	m.end()
	m = w.startOn("shop-0", m.dir, m.redisPort)
	if r := m.await("a record", 5*time.Second, func(wire.Record) bool { return true }); r.Epoch != 7 {
		t.Errorf("epoch %d after a restart of the container", r.Epoch)
	}
	if _, err := m.order(http.MethodPut, wire.PathAssignment, w.assignment(wire.RolePrimary, 7)); refusedWith(err) != wire.CodeStaleEpoch {
		t.Errorf("the epoch of the container before: %v", err)
	}
	m.assign(wire.RoleHeld, 7)
	m.assign(wire.RolePrimary, 8)
}

func TestReplicasResumeAfterAPromotion(t *testing.T) {
	t.Parallel()
	realserver.Each(t, func(t *testing.T, p realserver.Program) {
		t.Parallel()
		w := newWorld(t, p)
		one, two, three := w.start("shop-0"), w.start("shop-1"), w.start("shop-2")
		one.assign(wire.RolePrimary, 1)
		for _, m := range []*member{two, three} {
			m.assign(wire.RoleReplica, 1, following(one))
		}
		for _, m := range []*member{two, three} {
			m.await("the link", 10*time.Second, func(r wire.Record) bool { return factsOf(r).LinkUp })
		}
		if _, err := one.client().do("SET", "a", strings.Repeat("x", 1000)); err != nil {
			t.Fatal(err)
		}
		syncs := factsOf(two.latest().Record)
		if err := syscall.Kill(one.serverPID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		one.await("the death", 2*time.Second, func(r wire.Record) bool { return r.Server.Phase == wire.ServerDown })

		// The election holds all first, so that their offsets stand still.
		two.assign(wire.RoleHeld, 2)
		three.assign(wire.RoleHeld, 2)
		start := time.Now()
		two.assign(wire.RolePrimary, 2)
		promoted := time.Since(start)
		three.assign(wire.RoleReplica, 2, following(two))
		repointed := time.Since(start)
		after := two.await("the other replica", 5*time.Second, func(r wire.Record) bool {
			f := factsOf(r)
			return len(f.Replicas) == 1 && f.Replicas[0].Online
		})
		t.Logf("promoted after %s, repointed after %s, attached after %s", promoted, repointed, after.at.Sub(start))
		if f := factsOf(after.Record); f.SyncFull != syncs.SyncFull || f.SyncPartialOK != syncs.SyncPartialOK+1 {
			t.Errorf("full syncs %d → %d, partial %d → %d", syncs.SyncFull, f.SyncFull, syncs.SyncPartialOK, f.SyncPartialOK)
		}
	})
}
