package rediscluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
)

// TestACacheThatLagsChangesNothing lets the manager's cache be some changes behind, its own among them.
// The end must be that of the reference run, and no failover may be begun from a status before its own intent.
func TestACacheThatLagsChangesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for name, w := range workloads() {
		l.reference(t, name)
		for _, behind := range sampled(1, 2, 3, 4, 5) {
			t.Run(fmt.Sprintf("%s, %d behind", name, behind), func(t *testing.T) {
				t.Parallel()
				r := l.sameEnd(t, name, func(r *run) {
					r.world.Lag = behind
					r.world.StartManager(reconcilerOf, apistore.Gate{})
				})
				if slices.ContainsFunc(r.said, func(e string) bool { return repeated(r.said, e) }) {
					t.Errorf("an event came twice: %v", r.said)
				}
				began := count(r.said, "FailoverStarted")
				if most := map[bool]int{true: 1}[w.unplanned]; began > most {
					t.Errorf("%d failovers began: %v", began, r.said)
				}
			})
		}
	}
}

// TestErrorsOnTheWayChangeNothing lets some writes fail before they are carried out, or lose their answers
// after, while the manager lives on with what it believes.
func TestErrorsOnTheWayChangeNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for name := range workloads() {
		l.reference(t, name)
		for _, oneIn := range sampled(2, 3, 5, 7) {
			for moment, gate := range map[string]func(int) apistore.Gate{"is refused": refusing, "loses its answer": losing} {
				t.Run(fmt.Sprintf("%s, one write in %d %s", name, oneIn, moment), func(t *testing.T) {
					t.Parallel()
					l.sameEnd(t, name, func(r *run) { r.world.StartManager(reconcilerOf, gate(oneIn)) })
				})
			}
		}
	}
}

// sampled are all values, or under the race detector every fourth.
func sampled(all ...int) []int {
	var some []int
	for i := 0; i < len(all); i += min(sampleEvery, 4) {
		some = append(some, all[i])
	}
	return some
}

var errFault = errors.New("the connection broke")

func refusing(oneIn int) apistore.Gate { return apistore.Gate{Before: failing(oneIn)} }

func losing(oneIn int) apistore.Gate { return apistore.Gate{After: failing(oneIn)} }

// failing draws lots, since a fixed rhythm could hit the same write of every attempt.
func failing(oneIn int) func(apistore.Write) error {
	var mu sync.Mutex
	lots := rand.New(rand.NewPCG(1, uint64(oneIn)))
	return func(apistore.Write) error {
		mu.Lock()
		defer mu.Unlock()
		if lots.IntN(oneIn) == 0 {
			return errFault
		}
		return nil
	}
}

// sameEnd runs the workload with a manager of another kind, and compares the end with the reference.
func (l *lab) sameEnd(t *testing.T, name string, start func(*run)) *run {
	t.Helper()
	reference, r := l.reference(t, name), l.begin(t, workloads()[name])
	start(r)
	if err := r.finish(); err != nil {
		t.Fatalf("%v\nlast pass: %v\nevents: %v", err, r.world.Manager.Err(), r.said)
	}
	o, err := outcomeOf(r.world)
	if err != nil {
		t.Fatal(err)
	}
	if diff := o.differs(reference); diff != "" {
		t.Errorf("the end is another:\n%s\nevents: %v", diff, r.said)
	}
	return r
}

// repeated says whether a restart was announced twice in the same words.
func repeated(events []string, event string) bool {
	return strings.HasPrefix(event, "MemberRestart") && len(events)-len(slices.DeleteFunc(slices.Clone(events), func(e string) bool { return e == event })) > 1
}

func count(events []string, reason string) int {
	return len(slices.DeleteFunc(slices.Clone(events), func(e string) bool { return !strings.HasPrefix(e, reason+":") }))
}
