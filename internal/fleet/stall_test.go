package fleet

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// The tests in this file step the clock under a fleet that does not run, since a process cannot be
// made to stall in fake time.

const stallDetection = 3 * time.Second

var stalled = types.NamespacedName{Namespace: "prod", Name: "shop"}

func waitingFleet(t *testing.T) (*Fleet, *clocktesting.FakeClock) {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	f := New(Options{Clock: clk})
	f.Sync(stalled, Target{
		Members:   []Member{{Namespace: stalled.Namespace, Cluster: stalled.Name, ClusterUID: "c", Pod: "shop-0", PodUID: "p"}},
		Detection: stallDetection,
	})
	f.newlySilent()
	return f, clk
}

// pulses lets the watch run on time for a while and counts the wake-ups.
func pulses(f *Fleet, clk *clocktesting.FakeClock, d time.Duration) int {
	wakes := 0
	for end := clk.Now().Add(d); clk.Now().Before(end); {
		clk.Step(pulse)
		wakes += len(f.newlySilent())
	}
	return wakes
}

func TestTheManagersOwnStallIsNotTheMembersSilence(t *testing.T) {
	t.Parallel()
	f, clk := waitingFleet(t)
	if got := pulses(f, clk, stallDetection/2); got != 0 {
		t.Fatalf("woken %d times before the detection", got)
	}
	clk.Step(time.Minute)
	if c := f.Contacts(stalled)[0]; c.SilentFor(clk.Now()) != 0 {
		t.Errorf("a reconciler that runs before the watch sees a silence of %s", c.SilentFor(clk.Now()))
	}
	if got := len(f.newlySilent()); got != 0 {
		t.Error("the stall was taken for silence")
	}
	if got := pulses(f, clk, stallDetection-pulse); got != 0 {
		t.Error("the silence was not counted from the end of the stall")
	}
	if got := pulses(f, clk, 2*pulse); got != 1 {
		t.Errorf("woken %d times after a full silence, want 1", got)
	}
}

func TestAPulseThatIsALittleLateChangesNothing(t *testing.T) {
	t.Parallel()
	f, clk := waitingFleet(t)
	began := clk.Now()
	for clk.Since(began) < stallDetection {
		clk.Step(pulse + stallLimit)
		f.newlySilent()
	}
	if c := f.Contacts(stalled)[0]; !c.SilentSince.Equal(began) {
		t.Errorf("silent since %s after the start, want 0", c.SilentSince.Sub(began))
	}
}
