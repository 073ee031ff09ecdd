package check

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

// Silence is the longest time in which no write succeeded.
type Silence struct {
	// From is the last success before, To the first one after it.
	From, To time.Duration
	// Open: no success came before the window ended.
	Open bool
}

// Length of the silence.
func (s Silence) Length() time.Duration { return s.To - s.From }

// Window is a part of a history.
type Window struct{ From, Until time.Duration }

// Gap is how long clients could not write: until a write was accepted, and until one was confirmed by a replica.
type Gap struct{ Accepted, Confirmed Silence }

// Gaps finds the longest silences that overlap a window, over all clients together. The last
// success before the window counts as its beginning, so that the gap is never understated.
func Gaps(events []history.Event, w Window) Gap {
	var accepted, confirmed []time.Duration
	for _, e := range events {
		if !isWrite(e) || e.Outcome != history.OK {
			continue
		}
		accepted = append(accepted, e.Return)
		if e.Confirmed() {
			confirmed = append(confirmed, e.ConfirmedAt)
		}
	}
	return Gap{Accepted: longestSilence(accepted, w), Confirmed: longestSilence(confirmed, w)}
}

func longestSilence(successes []time.Duration, w Window) Silence {
	slices.Sort(successes)
	last := w.From
	first, _ := slices.BinarySearch(successes, w.From)
	if first > 0 {
		last = successes[first-1]
	}
	var longest Silence
	for _, at := range successes[first:] {
		if at > w.Until {
			break
		}
		if at-last > longest.Length() {
			longest = Silence{From: last, To: at}
		}
		last = at
	}
	if w.Until-last > longest.Length() {
		longest = Silence{From: last, To: w.Until, Open: true}
	}
	return longest
}
