package topology_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

const settleLimit = 90 * time.Second

// Any number of faults at any moment, with steps of the manager between them: never two that confirm, no
// confirmed write lost that a replica still has, and rest once the faults are over.
func TestModelManyFaults(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("%d members", n), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				w := newWorld(rt, n, onLog)
				w.fickle = true
				w.mustSettle(settleLimit)
				for range rapid.IntRange(1, 80).Draw(rt, "actions") {
					w.act(rapid.SampledFrom(everything()).Draw(rt, "action"))
				}
				if w.mustSettle(settleLimit) {
					w.restIsQuiet()
				}
			})
		})
	}
}

// One fault after the other, each with a load on: no confirmed write is lost, whatever it was.
func TestModelSingleFaults(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 5; n++ {
		t.Run(fmt.Sprintf("%d members", n), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				w := newWorld(rt, n, onLog)
				w.strict, w.lossy = true, n > 2
				for range rapid.IntRange(1, 3).Draw(rt, "faults") {
					w.mustSettle(settleLimit)
					w.load(rapid.IntRange(0, 20).Draw(rt, "before"))
					w.act(rapid.SampledFrom(singleFaults()).Draw(rt, "fault"))
					w.load(rapid.IntRange(0, 90).Draw(rt, "after"))
				}
				w.mustSettle(settleLimit)
			})
		})
	}
}

// The same chaos where a restart sets data back, or loses it: more may be lost then, but never are there two
// that confirm, and what a replica still has stays.
func TestModelWeakerStorage(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]persistence{"snapshots": onSnapshots, "memory": inMemory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				w := newWorld(rt, rapid.IntRange(1, 4).Draw(rt, "members"), p)
				w.mustSettle(settleLimit)
				for range rapid.IntRange(1, 80).Draw(rt, "actions") {
					w.act(rapid.SampledFrom(everything()).Draw(rt, "action"))
				}
				if p == inMemory {
					w.mustSettle(settleLimit)
				}
				if !w.settle(settleLimit) && w.lastDecision.State != topology.FailoverBlocked && w.lastDecision.State != topology.FailingOver {
					w.mustSettle(0)
				}
			})
		})
	}
}

// load writes and lets time pass.
func (w *world) load(ticks int) {
	for range ticks {
		w.act("write")
		w.tick()
	}
}

func everything() []string {
	return slices.Concat(
		[]string{"tick", "tick", "tick", "second", "three seconds", "write", "write", "write", "replicate", "replicate", "manager step", "manager step", "agent"},
		singleFaults(),
		[]string{"power on", "thaw", "resume server", "heal", "heal all", "fast", "stale order", "snapshot", "manager back", "lose power", "back status up", "set status back", "lose status"},
	)
}

func singleFaults() []string {
	return []string{
		"kill server", "kill primary", "kill container", "power cut", "freeze", "hang server", "cut", "cut from hub", "cut from members", "isolate", "slow",
		"kill manager", "freeze manager", "delete pod", "delete primary", "force delete", "force delete primary", "delete all", "scale", "roll",
	}
}
