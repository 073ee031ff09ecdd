package probe

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Sample is one answer of one server.
type Sample struct {
	// Member is the pod, Instance the run of its server: a restarted server is another instance.
	Member, Instance string
	// Call and Return of the probe.
	Call, Return time.Duration
	// Claims: the server says that it is primary.
	Claims bool
	// Confirmed: it accepted a write and a replica confirmed it.
	Confirmed bool
}

// Routing is where the primary Service led from a moment on.
type Routing struct {
	At   time.Duration
	Pods []string
}

// Report is all that was seen.
type Report struct {
	Samples  []Sample
	Routings []Routing
}

// Overlap is a time in which two servers did the same.
type Overlap struct {
	A, B     string
	From, To time.Duration
}

// Length of the overlap.
func (o Overlap) Length() time.Duration { return o.To - o.From }

// String is the overlap for people.
func (o Overlap) String() string {
	return fmt.Sprintf("%s and %s from %s to %s", o.A, o.B, o.From.Round(time.Millisecond), o.To.Round(time.Millisecond))
}

// Claims are the times in which two servers said to be primary. They are no violation by themselves.
func (r Report) Claims() []Overlap {
	return overlaps(r.Samples, func(s Sample) bool { return s.Claims })
}

// Effects are the times in which writes to two servers were confirmed. There must be none.
func (r Report) Effects() []Overlap {
	return overlaps(r.Samples, func(s Sample) bool { return s.Confirmed })
}

// Err is nil if there were never two effective primaries and never more than one endpoint behind the primary Service.
func (r Report) Err() error {
	var errs []error
	for _, o := range r.Effects() {
		errs = append(errs, fmt.Errorf("two primaries had writes confirmed: %s", o))
	}
	for _, routing := range r.Routings {
		if len(routing.Pods) > 1 {
			errs = append(errs, fmt.Errorf("at %s the primary Service led to %s", routing.At, strings.Join(routing.Pods, " and ")))
		}
	}
	return errors.Join(errs...)
}

// tenureGap is the longest time between two samples that still counts as one tenure.
const tenureGap = 500 * time.Millisecond

// tenure is a time in which an instance did the same all along. It runs from the first answer to the
// last call, so that an overlap is certain and not one of clocks and delays.
type tenure struct {
	member   string
	instance string
	from, to time.Duration
}

func overlaps(samples []Sample, holds func(Sample) bool) []Overlap {
	tenures := tenuresOf(samples, holds)
	var found []Overlap
	for i, a := range tenures {
		for _, b := range tenures[i+1:] {
			from, to := max(a.from, b.from), min(a.to, b.to)
			if a.instance != b.instance && from < to {
				found = append(found, Overlap{A: a.member, B: b.member, From: from, To: to})
			}
		}
	}
	return found
}

func tenuresOf(samples []Sample, holds func(Sample) bool) []tenure {
	byInstance := map[string][]Sample{}
	for _, s := range samples {
		byInstance[s.Instance] = append(byInstance[s.Instance], s)
	}
	var tenures []tenure
	for _, instance := range slices.Sorted(maps.Keys(byInstance)) {
		tenures = append(tenures, tenuresOfOne(byInstance[instance], holds)...)
	}
	return tenures
}

func tenuresOfOne(samples []Sample, holds func(Sample) bool) []tenure {
	slices.SortFunc(samples, func(a, b Sample) int { return cmp.Compare(a.Call, b.Call) })
	var tenures []tenure
	open := false
	for _, s := range samples {
		if !holds(s) {
			open = false
			continue
		}
		last := len(tenures) - 1
		if open && s.Call-tenures[last].to <= tenureGap {
			tenures[last].to = s.Call
			continue
		}
		open = true
		tenures = append(tenures, tenure{member: s.Member, instance: s.Instance, from: s.Return, to: s.Call})
	}
	return tenures
}
