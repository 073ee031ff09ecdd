package execute

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

// Timeline says when the parts of a change of primary were done. It is kept in memory for people
// and metrics only; nothing is decided from it.
type Timeline struct {
	// Epoch of the change; 0: none is under way.
	Epoch int64
	// Kind of the change.
	Kind topology.Kind
	// Heard is when the last word of the former primary, or its silence, reached the manager.
	Heard time.Time
	// Detected: the pass that decided to act began. Stored, Elected, Promoted, Routed, Attached: done.
	Detected time.Time
	Stored   time.Time
	Elected  time.Time
	Promoted time.Time
	Routed   time.Time
	Attached time.Time
}

// Begin starts a timeline for the change that the decision begins, if it begins one.
func (t *Timeline) Begin(d topology.Decision, heard, now time.Time) {
	for _, s := range d.Steps {
		if s.Store == nil || s.Store.Transition == nil || s.Store.Transition.Epoch == t.Epoch {
			continue
		}
		tr := s.Store.Transition
		*t = Timeline{Epoch: tr.Epoch, Kind: tr.Kind, Heard: heard, Detected: now}
	}
}

func (t *Timeline) stored(i topology.Intent, now time.Time) {
	switch {
	case i.Transition == nil || i.Transition.Epoch != t.Epoch:
	case i.Transition.To != "" && t.Elected.IsZero():
		t.Elected = now
		if t.Stored.IsZero() {
			t.Stored = now
		}
	case t.Stored.IsZero():
		t.Stored = now
	}
}

func (t *Timeline) promoted(now time.Time) { first(&t.Promoted, now, t.Epoch) }
func (t *Timeline) routed(now time.Time) {
	if !t.Promoted.IsZero() {
		first(&t.Routed, now, t.Epoch)
	}
}

// Attach notes that all replicas replicate from the new primary, and says whether that ends the timeline.
func (t *Timeline) Attach(now time.Time) bool {
	if t.Epoch == 0 || t.Routed.IsZero() || !t.Attached.IsZero() {
		return false
	}
	t.Attached = now
	return true
}

func first(at *time.Time, now time.Time, epoch int64) {
	if epoch != 0 && at.IsZero() {
		*at = now
	}
}
