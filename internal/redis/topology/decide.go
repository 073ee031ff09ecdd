package topology

import (
	"fmt"
	"slices"
)

// Decide maps a snapshot to what is to be done. It has no side effects, and the same State
// always gives the same Decision. The order of the cases is the order of urgency: stop the loss
// of data, fail over, restore redundancy, then change what the spec asks for.
func Decide(s State) Decision {
	d := Decision{SetReplicas: s.setReplicas(s.Want.Replicas)}
	switch {
	case s.Want.Deleting:
		d.State, d.Why = Deleting, "The cluster is being deleted."
	case s.Want.Paused:
		d.State, d.Why = Paused, "spec.paused is true: the operator does nothing for this cluster."
		d.SetReplicas = s.SetReplicas
	case s.adoptable() != nil:
		s.adopt(&d, s.adoptable())
	case s.Intent.Primary != "" && s.higherEpochSeen(s.storedEpoch()):
		s.startAgain(&d)
	case s.Intent.Transition != nil:
		s.continueTransition(&d)
	case s.Intent.Primary == "":
		s.create(&d)
	default:
		s.watchPrimary(&d)
	}
	return d
}

// setReplicas never shrinks the StatefulSet; scaling in is a decision of its own (see scale.go).
func (s *State) setReplicas(want int) int { return max(want, s.SetReplicas) }

// watchPrimary decides while no transition is under way, from the condition that the primary is in.
func (s *State) watchPrimary(d *Decision) {
	c := s.primaryCondition()
	switch c.verdict {
	case serving:
		s.steady(d)
		if c.wakeAfter > 0 {
			d.wake(c.wakeAfter)
		}
	case leaving:
		s.relieve(d)
	case cutOff:
		s.begin(d, Failover, c.why)
	case dead, orphaned, unresponsive, unreachable:
		s.begin(d, Failover, c.why)
	case suspect:
		d.State, d.Why = PrimarySuspect, c.why
		d.wake(c.wakeAfter)
	case unknown:
		d.State, d.Why = PrimaryUnknown, c.why
		if c.wakeAfter > 0 {
			d.wake(c.wakeAfter)
		}
	}
}

// begin stores the intent of a transition. Nothing else happens in the pass that begins: the
// effects follow from the stored intent, so that a restart finds the same way (I4).
func (s *State) begin(d *Decision, kind Kind, why string) {
	t := &Transition{
		Kind: kind, Epoch: s.nextEpoch(), Reason: why,
		From: s.Intent.Primary, FromUID: s.Intent.PrimaryUID,
	}
	next := s.Intent
	next.Transition = t
	d.State, d.Why = stateOf(kind), why
	d.add(Step{Store: &next})
	if kind == Failover {
		d.add(Step{Announce: &Announce{Occasion: FailoverStarted, From: t.From, Reason: why}})
	}
}

func stateOf(kind Kind) Name {
	switch kind {
	case Bootstrap:
		return Bootstrapping
	case HandOver:
		return HandingOver
	case Failover:
		return FailingOver
	}
	return FailingOver
}

// create starts the cluster once every member is there. A member that is missing may have
// brought a volume with data, so nobody is chosen without it.
func (s *State) create(d *Decision) {
	d.State = Creating
	if !slices.ContainsFunc(s.Members, hasServed) {
		// A smaller number of members is taken at once.
		d.SetReplicas = s.Want.Replicas
	}
	s.replaceBroken(d)
	s.assignHeld(d, s.nextEpoch()-1)
	if q := s.everybody(0); !q.met {
		absent := len(q.missing) + max(0, s.Want.Replicas-len(s.Members))
		d.Why = fmt.Sprintf("Waiting for %d of %d members to start.", absent, s.Want.Replicas)
		return
	}
	d.Steps = nil
	s.begin(d, Bootstrap, "All members have started for the first time.")
}

// hasServed says whether the member has taken part in a cluster, even if nothing is stored of it.
func hasServed(m Member) bool { return m.Pod.Exists && m.Agent != nil && m.Agent.Epoch > 0 }

// adoptable returns a member that serves as primary in an epoch above all that is stored. Nobody
// gets an epoch before it is stored, so the status was lost or set back, and what the engine says
// is the truth.
func (s *State) adoptable() *Member {
	stored := s.storedEpoch()
	var best *Member
	for i := range s.Members {
		m := &s.Members[i]
		if s.running(m) && m.Agent.Facts.IsPrimary && m.Agent.Epoch > stored && (best == nil || m.Agent.Epoch > best.Agent.Epoch) {
			best = m
		}
	}
	return best
}

// startAgain: somebody has seen an epoch above all that is stored, and its primary does not serve. So
// what is stored is from before, and speaks of the wrong primary and sync set. The members decide as
// at the first start, all of them.
func (s *State) startAgain(d *Decision) {
	why := "The status is older than what members have seen."
	d.State, d.Why = Bootstrapping, why
	d.add(Step{Store: &Intent{Transition: &Transition{Kind: Bootstrap, Epoch: s.nextEpoch(), Reason: why}}})
}

// adopt stores what is. Anybody may have confirmed something to that primary.
func (s *State) adopt(d *Decision, m *Member) {
	next := Intent{Epoch: m.Agent.Epoch, Primary: m.Name, PrimaryUID: m.Pod.UID, SyncSet: s.names(m.Name), ReplID: m.Agent.Facts.ReplID}
	d.State = Creating
	d.Why = fmt.Sprintf("Member %s already serves as primary in epoch %d.", m.Name, m.Agent.Epoch)
	d.add(Step{Store: &next})
}

// names lists the members beside one, by ordinal.
func (s *State) names(except string) []string {
	var out []string
	for _, m := range s.others(except) {
		out = append(out, m.Name)
	}
	return out
}
