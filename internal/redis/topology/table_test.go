package topology_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

// row is one state and what must be decided in it. Numbers in the sentences are rows of the list of
// reports in docs/designs/failover.md.
type row struct {
	state topology.State
	name  topology.Name
	// why is a part of the sentence for people.
	why string
	// steps in the words of redisstate.
	steps []string
	// set is the size of the StatefulSet; 0: the one of the state.
	set int
	// wake is when to look again; 0: never, any: some time.
	wake time.Duration
}

// any stands for a wake-up at a time that the row does not care about.
const anyTime = -1

func check(t *testing.T, rows map[string]row) {
	t.Helper()
	for sentence, r := range rows {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			before := redisstate.Clone(r.state)
			d := topology.Decide(r.state)
			if d.State != r.name {
				t.Errorf("state %s, want %s", d.State, r.name)
			}
			if r.why == "" || !strings.Contains(d.Why, r.why) {
				t.Errorf("why %q, want it to contain %q", d.Why, r.why)
			}
			if got := redisstate.Words(d); !slices.Equal(got, r.steps) {
				t.Errorf("steps:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(r.steps, "\n  "))
			}
			if want := setOf(r); d.SetReplicas != want {
				t.Errorf("StatefulSet of %d, want %d", d.SetReplicas, want)
			}
			if (r.wake == anyTime && d.WakeAfter <= 0) || (r.wake >= 0 && d.WakeAfter != r.wake) {
				t.Errorf("wake after %s, want %s", d.WakeAfter, r.wake)
			}
			mustBeLawful(t, before, d)
			mustNotRemember(t, before, d)
		})
	}
}

func setOf(r row) int {
	if r.set > 0 {
		return r.set
	}
	return r.state.SetReplicas
}

// mustNotRemember decides the same State again, as a manager does that was just started.
func mustNotRemember(t *testing.T, s topology.State, first topology.Decision) {
	t.Helper()
	again := topology.Decide(redisstate.Clone(s))
	if !slices.Equal(redisstate.Words(again), redisstate.Words(first)) || again.State != first.State || again.Why != first.Why {
		t.Errorf("decided %s %q the second time, %s %q the first", again.State, again.Why, first.State, first.Why)
	}
}
