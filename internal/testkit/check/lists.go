package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

func checkDuplicates(r *Report, members map[string]Data) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		lists := members[name].Lists
		for _, key := range slices.Sorted(maps.Keys(lists)) {
			seen := map[uint64]struct{}{}
			for _, id := range lists[key] {
				if _, twice := seen[id]; twice {
					r.Duplicated = append(r.Duplicated, Finding{key, id, "twice in the list of " + name})
				}
				seen[id] = struct{}{}
			}
		}
	}
}

// checkForks compares the reads that a replica confirmed: an append that was confirmed by WAIT
// confirms the whole list that it read in its transaction. Of two such reads, and of any of them and
// the final list, one must continue the other. Unconfirmed reads are left out: their tail may be lost
// with the primary, which is allowed and would look the same.
func checkForks(r *Report, events []history.Event, final Data) {
	reads := map[string][]history.Event{}
	for _, e := range events {
		if e.Kind == history.KindAppend && e.Confirmed() && e.List != nil {
			reads[e.Key] = append(reads[e.Key], e)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(reads)) {
		byLength := reads[key]
		slices.SortStableFunc(byLength, func(a, b history.Event) int { return cmp.Compare(len(a.List), len(b.List)) })
		// In order of length, each must continue the one before: then all pairs are in order too.
		byLength = append(byLength, history.Event{List: final.Lists[key], Member: "the final read"})
		for i := 1; i < len(byLength); i++ {
			shorter, longer := byLength[i-1], byLength[i]
			if at, ok := forksAt(shorter.List, longer.List); ok {
				r.Forked = append(r.Forked, Finding{Key: key, Detail: fmt.Sprintf(
					"%s (confirmed at %s) and %s (confirmed at %s) differ from position %d on",
					shorter.Member, shorter.ConfirmedAt, longer.Member, longer.ConfirmedAt, at)})
			}
		}
	}
}

// forksAt says where a list stops to be the beginning of another one.
func forksAt(shorter, longer []uint64) (int, bool) {
	for i, id := range shorter {
		if i >= len(longer) || longer[i] != id {
			return i, true
		}
	}
	return 0, false
}
