package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

// place is where a value lives.
type place struct {
	key string
	id  uint64
}

func placesOf(d Data) map[place]struct{} {
	places := map[place]struct{}{}
	for _, byKey := range []map[string][]uint64{d.Sets, d.Lists} {
		for key, ids := range byKey {
			for _, id := range ids {
				places[place{key, id}] = struct{}{}
			}
		}
	}
	return places
}

func isWrite(e history.Event) bool {
	return e.Kind == history.KindAdd || e.Kind == history.KindAppend
}

func checkPresence(r *Report, events []history.Event, final Data) {
	held := placesOf(final)
	for _, e := range events {
		if !isWrite(e) {
			continue
		}
		_, there := held[place{e.Key, e.ID}]
		switch {
		case e.Outcome == history.OK && e.Confirmed():
			r.Counts.Accepted++
			r.Counts.Confirmed++
			if !there {
				r.Lost = append(r.Lost, Finding{e.Key, e.ID,
					fmt.Sprintf("accepted by %s at %s, confirmed by %d replicas at %s", e.Member, e.Return, e.Replicas, e.ConfirmedAt)})
			}
		case e.Outcome == history.OK:
			r.Counts.Accepted++
			if !there {
				r.LostUnconfirmed++
			}
		case e.Outcome == history.Fail:
			r.Counts.Failed++
			if there {
				r.Resurrected = append(r.Resurrected, Finding{e.Key, e.ID, fmt.Sprintf("refused at %s: %s", e.Return, e.Text)})
			}
		case e.Outcome == history.Info:
			r.Counts.Unknown++
		}
	}
}

func checkUnexplained(r *Report, events []history.Event, final Data) {
	written := map[place]struct{}{}
	for _, e := range events {
		if isWrite(e) {
			written[place{e.Key, e.ID}] = struct{}{}
		}
	}
	for p := range placesOf(final) {
		if _, ok := written[p]; !ok {
			r.Unexplained = append(r.Unexplained, Finding{p.key, p.id, "no client wrote it"})
		}
	}
	slices.SortFunc(r.Unexplained, compareFindings)
}

func compareFindings(a, b Finding) int {
	if a.Key != b.Key {
		if a.Key < b.Key {
			return -1
		}
		return 1
	}
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	}
	return 0
}

func checkDivergence(r *Report, primary string, members map[string]Data) {
	want := members[primary]
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == primary {
			continue
		}
		compareSets(r, name, want.Sets, members[name].Sets)
		compareLists(r, name, want.Lists, members[name].Lists)
	}
}

func compareSets(r *Report, member string, want, got map[string][]uint64) {
	for _, key := range keysOf(want, got) {
		w, g := slices.Sorted(slices.Values(want[key])), slices.Sorted(slices.Values(got[key]))
		if !slices.Equal(w, g) {
			r.Diverged = append(r.Diverged, Finding{Key: key,
				Detail: fmt.Sprintf("%s holds %d values of the set, the primary %d", member, len(g), len(w))})
		}
	}
}

func compareLists(r *Report, member string, want, got map[string][]uint64) {
	for _, key := range keysOf(want, got) {
		if !slices.Equal(want[key], got[key]) {
			r.Diverged = append(r.Diverged, Finding{Key: key,
				Detail: fmt.Sprintf("%s holds %d values of the list, the primary %d, or in another order", member, len(got[key]), len(want[key]))})
		}
	}
}

func keysOf(a, b map[string][]uint64) []string {
	keys := map[string]struct{}{}
	for _, m := range []map[string][]uint64{a, b} {
		for k := range m {
			keys[k] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
