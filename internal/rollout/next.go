package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Member is one member as the roll sees it.
type Member struct {
	Name    string
	Ordinal int
	// Primary: the member has the role, as decided in the current epoch.
	Primary bool
	// Healthy: it serves in its role; a replica is attached and in step.
	Healthy bool
	// Broken: it cannot come up by itself: its image cannot be pulled, its container crashes again
	// and again, no node takes it. A member that merely starts is not broken.
	Broken bool
	// Gone: its pod is already on the way out.
	Gone bool
	// Outdated says why the pod must be restarted; empty: current.
	Outdated []Reason
	// LagBytes behind the primary; nil: unknown.
	LagBytes *int64
}

// Strategy says who decides about the primary.
type Strategy string

// The strategies.
const (
	Automatic  Strategy = "Automatic"
	Supervised Strategy = "Supervised"
)

// Input is everything that the decision rests on.
type Input struct {
	Members []Member
	// Wanted is the number of members of the spec.
	Wanted   int
	Strategy Strategy
	// Approved: a person approved the restart of the primary for this generation of the spec.
	Approved bool
	// Volatile: the data of a member does not survive its pod.
	Volatile bool
}

// Kind of an action.
type Kind string

// The kinds of action.
const (
	// Done: no member is outdated.
	Done Kind = "Done"
	// Wait: nothing may be restarted now.
	Wait Kind = "Wait"
	// Replace: delete the pod of Action.Member, so that it comes back from the current template.
	Replace Kind = "Replace"
	// HandOver: move the role from Action.Member to another member; it is replaced later, as a replica.
	HandOver Kind = "HandOver"
	// AwaitApproval: only the primary is left, and a person has to approve.
	AwaitApproval Kind = "AwaitApproval"
)

// Action is the one thing to do now, and why.
type Action struct {
	Kind Kind
	// Member concerned, for Replace, HandOver and AwaitApproval.
	Member string
	// Reason in a full sentence's words, for conditions and events.
	Reason string
}

// Next picks the one thing to do now.
//
// The rules, in this order; each keeps what the ones below assume:
//  1. Nothing is outdated: done.
//  2. A broken outdated member is replaced at once, whatever the others do. It serves nobody, and
//     it is how a bad spec, taken back, heals.
//  3. A pod is on its way out: wait, so that never two members that serve go at once.
//  4. A broken current member stops the roll: the current template does not work.
//  5. A member is missing, or no member is primary: wait.
//  6. Anyone but the next candidate is unhealthy: wait.
//  7. Replicas: the unhealthy one, else the most lagging, else the highest ordinal.
//  8. The primary, when it alone is left: hand its role over, if need be after approval.
func Next(in Input) Action {
	members := slices.SortedFunc(slices.Values(in.Members), func(a, b Member) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	outdated := where(members, func(m Member) bool { return len(m.Outdated) > 0 })
	if len(outdated) == 0 {
		return Action{Kind: Done, Reason: "every member is current"}
	}
	if broken := where(outdated, func(m Member) bool { return m.Broken && !m.Gone }); len(broken) > 0 {
		return replace(firstBroken(broken), "cannot come up and is outdated")
	}
	if gone := where(members, func(m Member) bool { return m.Gone }); len(gone) > 0 {
		return wait("%s is on its way out", names(gone))
	}
	if broken := where(members, func(m Member) bool { return m.Broken }); len(broken) > 0 {
		return wait("%s cannot come up with the current spec", names(broken))
	}
	return nextHealthy(in, members, outdated)
}

func nextHealthy(in Input, members, outdated []Member) Action {
	if len(members) < in.Wanted {
		return wait("%d of %d members exist", len(members), in.Wanted)
	}
	primaries := where(members, func(m Member) bool { return m.Primary })
	if len(primaries) != 1 {
		return wait("%d members are primary", len(primaries))
	}
	candidate := pick(outdated)
	others := where(members, func(m Member) bool { return m.Name != candidate.Name && !m.Healthy })
	if len(others) > 0 {
		return wait("%s is not healthy", names(others))
	}
	if !candidate.Primary {
		return replace(candidate, "is outdated")
	}
	return nextPrimary(in, members, candidate)
}

func nextPrimary(in Input, members []Member, primary Member) Action {
	alone := len(members) == 1
	if in.Strategy == Supervised && !in.Approved {
		return Action{Kind: AwaitApproval, Member: primary.Name, Reason: fmt.Sprintf("primary %s waits for approval: %s", primary.Name, because(primary))}
	}
	if alone && in.Volatile && !in.Approved {
		return Action{
			Kind: AwaitApproval, Member: primary.Name,
			Reason: fmt.Sprintf("%s is the only copy of data that does not survive a restart, and waits for approval: %s", primary.Name, because(primary)),
		}
	}
	if !primary.Healthy {
		return wait("primary %s is not healthy", primary.Name)
	}
	if alone {
		return replace(primary, "is outdated")
	}
	return Action{Kind: HandOver, Member: primary.Name, Reason: fmt.Sprintf("primary %s is outdated: %s", primary.Name, because(primary))}
}

// pick returns the next outdated member: an unhealthy replica first, since it serves least; then the
// most lagging one, where an unknown lag counts as the longest; the primary last.
func pick(outdated []Member) Member {
	return slices.MinFunc(outdated, func(a, b Member) int {
		return cmp.Or(
			compareBool(a.Primary, b.Primary),
			compareBool(a.Healthy, b.Healthy),
			-cmp.Compare(lag(a), lag(b)),
			-cmp.Compare(a.Ordinal, b.Ordinal),
		)
	})
}

func firstBroken(broken []Member) Member {
	return slices.MinFunc(broken, func(a, b Member) int {
		return cmp.Or(compareBool(a.Primary, b.Primary), -cmp.Compare(a.Ordinal, b.Ordinal))
	})
}

const unknownLag = int64(1) << 62

func lag(m Member) int64 {
	if m.LagBytes == nil {
		return unknownLag
	}
	return *m.LagBytes
}

// compareBool sorts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func where(members []Member, keep func(Member) bool) []Member {
	var out []Member
	for _, m := range members {
		if keep(m) {
			out = append(out, m)
		}
	}
	return out
}

func replace(m Member, why string) Action {
	return Action{Kind: Replace, Member: m.Name, Reason: fmt.Sprintf("%s %s: %s", m.Name, why, because(m))}
}

func wait(format string, args ...any) Action {
	return Action{Kind: Wait, Reason: fmt.Sprintf(format, args...)}
}

func because(m Member) string {
	words := make([]string, 0, len(m.Outdated))
	for _, r := range m.Outdated {
		words = append(words, string(r))
	}
	return strings.Join(words, ", ")
}

func names(members []Member) string {
	words := make([]string, 0, len(members))
	for _, m := range members {
		words = append(words, m.Name)
	}
	return strings.Join(words, ", ")
}
