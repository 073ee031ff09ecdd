package topology

import (
	"cmp"
	"fmt"
	"time"
)

// MaxHandOverFailures is how often the engine may refuse a hand-over before none is begun for a while.
const MaxHandOverFailures = 3

// relieve moves the role away from a primary whose pod is about to end. Without a replica in step
// nothing can be done but wait: the failover follows when the server is down.
func (s *State) relieve(d *Decision) {
	p := s.member(s.Intent.Primary)
	if to := s.successor(p); to != nil && s.HandOverPause == 0 {
		s.beginHandOver(d, p, to, fmt.Sprintf("The pod %s is being stopped.", p.Name))
		return
	}
	if s.HandOverPause > 0 {
		d.wake(s.HandOverPause)
	}
	s.steady(d)
}

// successor is the replica that a hand-over goes to: in the sync set, in step, not about to stop,
// preferably up to date with the spec, then the one closest behind.
func (s *State) successor(p *Member) *Member {
	var best *Member
	for _, m := range s.others(p.Name) {
		if !s.canSucceed(m, p) {
			continue
		}
		if best == nil || s.betterSuccessor(m, best) < 0 {
			best = m
		}
	}
	return best
}

func (s *State) canSucceed(m, p *Member) bool {
	return s.inSyncSet(m.Name) && s.linked(m, p) && !m.Agent.Stopping && !m.Pod.Terminating && m.Ordinal < s.Want.Replicas
}

func (s *State) betterSuccessor(a, b *Member) int {
	return cmp.Or(
		cmp.Compare(min(1, len(a.Pod.Outdated)), min(1, len(b.Pod.Outdated))),
		cmp.Compare(b.Agent.Facts.Offset, a.Agent.Facts.Offset),
		cmp.Compare(a.Ordinal, b.Ordinal),
	)
}

// beginHandOver stores the intent; both ends are known from the start.
func (s *State) beginHandOver(d *Decision, from, to *Member, why string) {
	next := s.Intent
	next.Transition = &Transition{
		Kind: HandOver, Epoch: s.nextEpoch(), Reason: why,
		From: from.Name, FromUID: from.Pod.UID, To: to.Name, ToUID: to.Pod.UID,
	}
	d.State, d.Why = HandingOver, why
	d.add(Step{Store: &next}, Step{Announce: &Announce{Occasion: HandOverStarted, From: from.Name, To: to.Name, Reason: why}})
}

// continueHandOver lets the engine move the role: it stops writes, waits until the replica has them
// all, and swaps the two. Which of the two is primary afterwards is read, not assumed.
func (s *State) continueHandOver(d *Decision, t *Transition) {
	from, to := s.member(t.From), s.member(t.To)
	fromThere := from != nil && from.Pod.Exists && from.Pod.UID == t.FromUID
	if to != nil && (!to.Pod.Exists || to.Pod.UID != t.ToUID) {
		to = nil
	}
	switch {
	case s.running(to) && to.Agent.Facts.IsPrimary && s.gaveUp(from, t):
		s.finishHandOver(d, t, to)
	case fromThere && (s.unheard(from) || s.unheard(to)):
		d.Why = fmt.Sprintf("Waiting to hear of the hand-over from %s to %s.", t.From, t.To)
		d.wake(s.Want.Detection)
	case !fromThere || s.lost(from):
		// The primary went away in the middle: this is a failover now.
		s.restart(d, t, t.From, t.FromUID, fmt.Sprintf("%s was lost while it handed over to %s.", t.From, t.To))
	case !s.running(from):
		d.Why = fmt.Sprintf("Waiting for %s, which was handing over to %s.", t.From, t.To)
		d.wake(s.untilLost(from))
	case !from.Agent.Facts.IsPrimary:
		s.awaitSuccessor(d, t, to)
	default:
		s.moveRole(d, t, from, to)
	}
}

// moveRole gives the engine its order, with the route to the primary taken away before. A target that
// is no longer fit, or an engine that refused too often, leaves the role where it is.
func (s *State) moveRole(d *Decision, t *Transition, from, to *Member) {
	fit := s.linked(to, from) && !to.Agent.Stopping && !to.Pod.Terminating
	if !fit || s.HandOverFailures >= MaxHandOverFailures {
		s.giveUp(d, t, from)
		return
	}
	if s.RoutedUID != "" {
		d.add(Step{Route: &Route{}})
	}
	d.add(Step{HandOver: &Move{From: t.From, To: t.To, Epoch: t.Epoch}})
}

// gaveUp says whether the former primary surely takes no writes: it says so, or its lease has run out.
func (s *State) gaveUp(from *Member, t *Transition) bool {
	if s.running(from) && from.Pod.UID == t.FromUID {
		return !from.Agent.Facts.IsPrimary && !handingOver(from)
	}
	return s.fenceOf(t.From, t.FromUID, t.Epoch).safe
}

// handingOver says whether the engine is in the middle of a hand-over. It calls itself a replica
// then, and becomes primary again by itself if the other side refuses.
func handingOver(m *Member) bool {
	state := m.Agent.Facts.FailoverState
	return state != "" && state != "no-failover"
}

// unheard: this manager has not been in touch with the member for long enough to miss it. What it was
// told, and what it did since, is not known yet.
func (s *State) unheard(m *Member) bool {
	return m != nil && m.Agent == nil && m.Pod.Exists && m.Pod.Address != "" && m.Pod.Broken == "" && m.Link.Silent < s.Want.Detection
}

// lost: the primary's server is down or restarted, or its agent is out of reach for the time of detection.
func (s *State) lost(m *Member) bool {
	if m.Agent == nil || m.Agent.Final {
		return true
	}
	if s.live(m) {
		return m.Agent.Phase == Down || m.Agent.Phase == Waiting || m.Agent.Phase == Starting ||
			(m.Agent.Phase == Unresponsive && m.Agent.UnresponsiveFor >= s.Want.Detection)
	}
	return m.Link.Silent >= s.Want.Detection
}

// untilLost is how long it takes until a member that is quiet counts as lost.
func (s *State) untilLost(m *Member) time.Duration {
	return s.Want.Detection - max(m.Link.Silent, m.Agent.UnresponsiveFor)
}

// awaitSuccessor: the former primary is a replica already and the successor does not say that it
// is primary. It will say so in a moment, or it is lost, and then this is a failover. A nil one has no
// pod any more.
func (s *State) awaitSuccessor(d *Decision, t *Transition, to *Member) {
	if to == nil || s.lost(to) {
		s.restart(d, t, t.To, t.ToUID, fmt.Sprintf("%s was lost while it took over from %s.", t.To, t.From))
		return
	}
	// What the successor said last may be older than what the former primary said: a link that is up to a
	// server which is no primary any more is such old news.
	waiting := s.linkedTo(to, t.From) && to.Agent.Facts.LinkUp
	if from := s.member(t.From); !handingOver(from) && !waiting && (s.heldAt(to, 0) || s.linkedTo(to, t.From)) {
		// Both are replicas: the swap was cut in two by a restart of one of them.
		s.restart(d, t, t.From, t.FromUID, fmt.Sprintf("The hand-over from %s to %s was interrupted.", t.From, t.To))
		return
	}
	d.Why = fmt.Sprintf("Waiting for %s to take over from %s.", t.To, t.From)
	d.wake(s.Want.Detection)
}

// linkedTo says whether the member is a replica of the named pod.
func (s *State) linkedTo(m *Member, name string) bool {
	p := s.member(name)
	return s.running(m) && p != nil && m.Agent.Facts.Following == p.Pod.Address
}

// finishHandOver confirms the new primary in the new epoch, then completes like a failover.
func (s *State) finishHandOver(d *Decision, t *Transition, to *Member) {
	if to.Agent.Epoch < t.Epoch {
		d.add(Step{Assign: &Assign{Epoch: t.Epoch, Roles: map[string]Role{to.Name: Primary}}})
	}
	s.complete(d, t, to)
}

// giveUp leaves the role where it is, in the new epoch, which the primary may have seen already.
func (s *State) giveUp(d *Decision, t *Transition, from *Member) {
	next := s.Intent
	next.Epoch, next.Transition = t.Epoch, nil
	d.Why = fmt.Sprintf("%s stays primary: the hand-over to %s did not come about.", t.From, t.To)
	d.add(
		Step{Store: &next},
		Step{Assign: &Assign{Epoch: t.Epoch, Roles: map[string]Role{from.Name: Primary}}},
		Step{Route: &Route{Pod: from.Name, UID: from.Pod.UID}},
		Step{Announce: &Announce{Occasion: HandOverGivenUp, From: t.From, To: t.To, Reason: t.Reason}},
	)
}
