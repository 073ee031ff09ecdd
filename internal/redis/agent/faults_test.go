package agent_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/realserver"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// frozen is a process that was stopped by a signal.
type frozen struct {
	thaw func()
}

func freeze(t *testing.T, pid int) frozen {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// The process may have been killed meanwhile.
	f := frozen{thaw: sync.OnceFunc(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })}
	t.Cleanup(f.thaw)
	awaitStopped(t, pid)
	return f
}

// awaitStopped returns when every thread of a process has stopped, which on a busy machine is not
// when the signal was sent.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		stopped := 0
		for _, thread := range threads {
			if b, err := os.ReadFile(thread); err == nil && strings.Contains(string(b), ") T ") {
				stopped++
			}
		}
		if stopped > 0 && stopped == len(threads) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d did not stop: %d of %d threads", pid, stopped, len(threads))
		}
		time.Sleep(time.Millisecond) // polls the threads' states
	}
}

func (m *member) freezeServer() frozen { return freeze(m.w.t, m.serverPID()) }

func withLease(lease, isolation time.Duration) change {
	return func(a *wire.Assignment, _ *facts.Wishes) { a.Lease, a.Isolation = lease, isolation }
}

func TestAFrozenServerIsUnresponsiveAndCanBeKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	m := w.start("shop-0")
	m.assign(wire.RolePrimary, 1)
	f := m.freezeServer()
	r := m.await("the silence", 3*time.Second, func(r wire.Record) bool { return r.Server.Phase == wire.ServerUnresponsive })
	if r.Server.UnresponsiveMillis < 1000 {
		t.Errorf("silent for %d ms", r.Server.UnresponsiveMillis)
	}
	m.await("the silence growing in heartbeats", 3*time.Second, func(r wire.Record) bool { return r.Server.UnresponsiveMillis > 1800 })
	f.thaw()
	m.await("the thaw", 3*time.Second, func(r wire.Record) bool { return r.Server.Phase == wire.ServerRunning })

	m.freezeServer()
	hanging := make(chan error, 1)
	go func() {
		_, err := m.order(http.MethodPut, wire.PathAssignment, w.assignment(wire.RoleHeld, 2))
		hanging <- err
	}()
	m.await("the order that hangs", 3*time.Second, func(r wire.Record) bool { return r.Epoch == 2 })
	start := time.Now()
	r2, err := m.order(http.MethodPost, wire.PathKill, wire.Kill{Cluster: clusterUID, Epoch: 3, Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 500*time.Millisecond {
		t.Errorf("the kill took %s", took)
	}
	if r2.Server.Phase != wire.ServerDown || r2.Server.KilledEpoch != 3 || r2.Epoch != 3 {
		t.Errorf("after the kill: %+v", r2)
	}
	if err := <-hanging; err != nil && refusedWith(err) != wire.CodeEngine {
		t.Errorf("the order that hung ended with %v", err)
	}
	// Nothing starts it but an assignment of the kill's epoch.
	if _, err := m.order(http.MethodPut, wire.PathAssignment, w.assignment(wire.RolePrimary, 2)); refusedWith(err) != wire.CodeStaleEpoch {
		t.Errorf("an assignment from before the kill: %v", err)
	}
	if r := m.latest(); r.Server.Phase != wire.ServerDown {
		t.Errorf("a killed server came back by itself: %+v", r.Server)
	}
	held := m.assign(wire.RoleHeld, 3)
	if held.Server.KilledEpoch != 0 || held.Server.Instance != 2 {
		t.Errorf("after the assignment: %+v", held.Server)
	}
}

func TestAPrimaryWithoutLeaseRefusesWritesUntilTheManagerIsBack(t *testing.T) {
	t.Parallel()
	realserver.Each(t, func(t *testing.T, p realserver.Program) {
		t.Parallel()
		w := newWorld(t, p)
		one, two := w.start("shop-0"), w.start("shop-1")
		brief := withLease(600*time.Millisecond, time.Minute)
		two.assign(wire.RoleHeld, 1, brief)
		one.assign(wire.RolePrimary, 1, withPeers(two), brief)
		client := one.client()

		// Peers of the same epoch keep the lease while the manager is silent.
		one.setEcho(false)
		one.await("the peer's answers", 3*time.Second, func(r wire.Record) bool {
			return r.Peers["shop-1"].AnsweredMillis >= 0
		})
		time.Sleep(1500 * time.Millisecond) // more than two leases without the manager
		if _, err := client.do("SET", "a", "1"); err != nil || one.latest().WritesFenced {
			t.Fatalf("a peer in touch did not keep the lease: %v", err)
		}

		// A peer that knows of a later epoch keeps nothing.
		two.assign(wire.RoleHeld, 2, brief)
		one.await("the fence", 3*time.Second, func(r wire.Record) bool { return r.WritesFenced })
		if _, err := client.do("SET", "a", "2"); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
			t.Errorf("a write without a lease: %v", err)
		}
		if got, err := client.do("GET", "a"); err != nil || got != "1" {
			t.Errorf("a read without a lease: %v, %v", got, err)
		}
		if ready(t, one) {
			t.Error("a fenced primary is ready")
		}

		// An echo alone does not lift what a later epoch may have decided; an assignment does.
		one.setEcho(true)
		time.Sleep(1200 * time.Millisecond) // two heartbeats and their echoes
		if !one.latest().WritesFenced {
			t.Error("an echo lifted the fence although a peer knows of a later epoch")
		}
		one.assign(wire.RolePrimary, 2, withPeers(two), brief)
		one.await("the lifted fence", time.Second, notFenced)
		if _, err := client.do("SET", "a", "3"); err != nil {
			t.Errorf("a write after the assignment: %v", err)
		}
	})
}

func notFenced(r wire.Record) bool { return !r.WritesFenced }

func TestAFreshEchoLiftsTheFence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	one, two := w.start("shop-0"), w.start("shop-1")
	one.assign(wire.RolePrimary, 1, withPeers(two), withLease(600*time.Millisecond, time.Minute))
	two.end()
	one.setEcho(false)
	one.await("the fence", 3*time.Second, func(r wire.Record) bool { return r.WritesFenced })
	one.setEcho(true)
	one.await("the lifted fence", 3*time.Second, notFenced)
	if _, err := one.client().do("SET", "a", "1"); err != nil {
		t.Errorf("a write after the echo: %v", err)
	}
}

func TestAnIsolatedMemberKillsItsServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	one, two := w.start("shop-0"), w.start("shop-1")
	one.assign(wire.RolePrimary, 1, withPeers(two), withLease(500*time.Millisecond, 1500*time.Millisecond))
	// The peer is enough to go on, even without a lease.
	one.setEcho(false)
	time.Sleep(2500 * time.Millisecond) // longer than the isolation limit
	if r := one.latest(); r.Isolated || r.Server.Phase != wire.ServerRunning {
		t.Fatalf("killed although a peer was in touch: %+v", r.Record)
	}
	two.end()
	gone := one.await("the kill", 5*time.Second, func(r wire.Record) bool { return r.Isolated && r.Server.Phase == wire.ServerDown })
	if gone.AssignmentDigest != "" {
		t.Errorf("isolated: %+v", gone.Record)
	}
	one.setEcho(true)
	time.Sleep(time.Second) // an echo alone must not start it
	if r := one.latest(); r.Server.Phase != wire.ServerDown {
		t.Errorf("the server came back without an assignment: %+v", r.Server)
	}
	if _, err := one.order(http.MethodPut, wire.PathAssignment, w.assignment(wire.RolePrimary, 1)); refusedWith(err) != wire.CodeStaleEpoch {
		t.Errorf("its old epoch: %v", err)
	}
	back := one.assign(wire.RoleHeld, 2)
	if back.Isolated || factsOf(back).IsPrimary {
		t.Errorf("back: %+v", back)
	}
}

func TestAThawedAgentTrustsNothingFromBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	two := w.start("shop-1")
	two.assign(wire.RoleHeld, 1)
	one, process := w.startProcess("shop-0")
	one.assign(wire.RolePrimary, 1, withPeers(two), withLease(800*time.Millisecond, time.Minute))
	client := one.client()
	if _, err := client.do("SET", "a", "1"); err != nil {
		t.Fatal(err)
	}
	// While the agent is frozen, the manager decides otherwise; what it had sent before lies in the
	// agent's socket until the thaw.
	f := freeze(t, process.Pid)
	stale := w.assignment(wire.RolePrimary, 1, withPeers(two), withLease(800*time.Millisecond, time.Minute))
	stale.HeardMono = one.latest().SentMono
	answered := make(chan error, 1)
	go func() {
		_, err := one.order(http.MethodPut, wire.PathAssignment, stale)
		answered <- err
	}()
	one.setEcho(false)
	two.assign(wire.RoleHeld, 2)
	time.Sleep(1500 * time.Millisecond) // longer than the lease and the time to fence
	f.thaw()
	r := one.await("another server, held", 10*time.Second, func(r wire.Record) bool {
		return r.Server.Instance == 2 && r.Server.Phase == wire.ServerRunning
	})
	if f := factsOf(r.Record); f.IsPrimary || r.SpentEpoch != 1 {
		t.Errorf("after the thaw: %+v %+v", r.Record, f)
	}
	if err := <-answered; err == nil {
		t.Error("an assignment from before the freeze was obeyed")
	}
	if _, err := client.do("SET", "a", "2"); err == nil {
		t.Error("a write after the thaw was taken")
	}
}

func TestAServerThatCannotBeFencedIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	one, two := w.start("shop-0"), w.start("shop-1")
	one.assign(wire.RolePrimary, 1, withPeers(two), withLease(600*time.Millisecond, time.Minute))
	f := one.freezeServer()
	defer f.thaw()
	one.setEcho(false)
	heard := one.latest().at
	two.end()
	r := one.await("the end of the server", 3*time.Second, func(r wire.Record) bool { return r.Server.LastExit != "" })
	if r.Server.LastExit != "signal: killed" || r.WritesFenced {
		t.Errorf("record %+v", r.Record)
	}
	t.Logf("killed %s after the last echo or so", r.at.Sub(heard))
	one.await("the next server, held", 5*time.Second, func(r wire.Record) bool {
		return r.Server.Phase == wire.ServerRunning && !factsOf(r).IsPrimary
	})
}

func TestAHeldServerThatBecomesPrimaryIsHeldAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	_, two := w.pair()
	two.assign(wire.RoleHeld, 2)
	// What an old primary's hand-over would do to it.
	if _, err := two.client().do("REPLICAOF", "NO", "ONE"); err != nil {
		t.Fatal(err)
	}
	two.await("the usurpation or its end", 3*time.Second, func(r wire.Record) bool { return factsOf(r).ReplID2 != "" })
	two.await("the hold", 3*time.Second, func(r wire.Record) bool { return !factsOf(r).IsPrimary })
}
