package topology

import (
	"fmt"
	"slices"
	"strings"
)

// continueTransition takes the stored intent one step further. It can be entered at any point: what
// was done already is seen in the observations, not remembered.
func (s *State) continueTransition(d *Decision) {
	t := s.Intent.Transition
	d.State, d.Why = stateOf(t.Kind), t.Reason
	switch {
	case t.Kind == HandOver:
		s.continueHandOver(d, t)
	case t.To == "":
		s.gatherAndElect(d, t)
	default:
		s.promote(d, t)
	}
}

// gatherAndElect is the first half of a failover: no route, everybody held, the former primary
// surely fenced, enough members gathered, the best of them stored as the candidate.
func (s *State) gatherAndElect(d *Decision, t *Transition) {
	f := s.fenceOf(t.From, t.FromUID, t.Epoch)
	// A route to a server that is surely down is left for the successor to replace in one update: a client
	// that is refused there tries again at once, while one that finds no endpoint waits for its SYN.
	if s.RoutedUID != "" && (!f.safe || s.running(s.member(t.From))) {
		d.add(Step{Route: &Route{}})
	}
	if s.higherEpochSeen(t.Epoch) {
		s.restart(d, t, t.From, t.FromUID, t.Reason)
		return
	}
	s.assignHeld(d, t.Epoch)
	if f.kill != nil {
		d.add(Step{Kill: f.kill})
	}
	q := s.quorum(t.Epoch)
	if t.Kind == Bootstrap {
		q = s.everybody(t.Epoch)
		q.met = q.met || (s.Want.AcceptLoss && s.anyGathered(t.Epoch))
	}
	switch {
	case !q.met:
		s.blocked(d, q.missing)
	case !f.safe:
		d.Why = f.why
		if f.wakeAfter > 0 {
			d.wake(f.wakeAfter)
		}
	default:
		s.storeElected(d, t)
	}
}

// everybody demands all wanted members, as a cluster starts for the first time: one that is missing
// may bring a volume with data.
func (s *State) everybody(epoch int64) quorum {
	var q quorum
	for i := range s.Members {
		if m := &s.Members[i]; (m.Ordinal < s.Want.Replicas || hasServed(*m)) && !s.gathered(m, epoch) {
			q.missing = append(q.missing, m.Name)
		}
	}
	q.met = len(q.missing) == 0 && len(s.Members) >= s.Want.Replicas
	return q
}

// blocked says who is waited for. A wait of a few moments is part of every failover; report turns
// a long one into a condition.
func (s *State) blocked(d *Decision, missing []string) {
	d.Why = fmt.Sprintf("Waiting for %s, which may hold confirmed writes.", strings.Join(missing, ", "))
	s.replaceBroken(d)
	if !s.underWay(missing, s.Intent.Transition.Epoch) {
		d.State = FailoverBlocked
	}
}

// underWay says whether every missing member speaks and is just being held or loading its data, or is one
// that this manager has only begun to call. One that is held and still missing has not got what it was wanted for.
func (s *State) underWay(missing []string, epoch int64) bool {
	return !slices.ContainsFunc(missing, func(name string) bool {
		m := s.member(name)
		return (!s.live(m) && !s.unheard(m)) || s.gathered(m, epoch)
	})
}

// storeElected fixes the candidate before it is promoted.
func (s *State) storeElected(d *Decision, t *Transition) {
	e := s.elect(t)
	switch {
	case e.divergent != "":
		d.State, d.Why = DivergentData, e.divergent
		return
	case e.winner == nil:
		s.blocked(d, []string{s.Intent.Primary})
		return
	case e.empty && !s.emptyIsAll(t):
		d.State = FailoverBlocked
		d.Why = "Only members without data are there; waiting for the others."
		return
	}
	next := s.Intent
	elected := *t
	elected.To, elected.ToUID = e.winner.Name, e.winner.Pod.UID
	next.Transition = &elected
	d.add(Step{Store: &next})
	d.Why = fmt.Sprintf("%s was elected.", e.winner.Name)
}

// emptyIsAll: an empty member may lead only when every member is there and all are empty, so that
// no copy is left out; it then is the whole truth (I5).
func (s *State) emptyIsAll(t *Transition) bool {
	return s.everybody(t.Epoch).met
}

// promote is the second half: the candidate is told, and once it serves, the cluster has its
// primary. Only a proof that the candidate is dead or was never promoted lets another be elected.
func (s *State) promote(d *Decision, t *Transition) {
	c := s.member(t.To)
	switch {
	case c == nil || !c.Pod.Exists || c.Pod.UID != t.ToUID:
		s.restart(d, t, t.To, t.ToUID, fmt.Sprintf("The elected member %s is gone.", t.To))
	case s.primaryAt(c, t.Epoch):
		s.complete(d, t, c)
	case s.higherEpochSeen(t.Epoch):
		s.restart(d, t, t.To, t.ToUID, t.Reason)
	case s.heldAt(c, t.Epoch) && c.Agent.SpentEpoch < t.Epoch:
		s.promoteHeld(d, t, c)
	case s.live(c) && c.Agent.Phase != Unresponsive:
		// Down, starting or demoted: it is fenced and not promoted.
		s.restart(d, t, t.To, t.ToUID, fmt.Sprintf("The elected member %s was restarted.", t.To))
	case c.Link.Silent >= s.Want.Detection || (s.live(c) && c.Agent.UnresponsiveFor >= s.Want.Detection):
		s.restart(d, t, t.To, t.ToUID, fmt.Sprintf("The elected member %s does not answer.", t.To))
	default:
		d.Why = fmt.Sprintf("Waiting for %s to take over.", t.To)
		d.wake(s.Want.Detection - c.Link.Silent)
	}
}

// promoteHeld tells the candidate, unless it lost its data in the meantime: then the election,
// which rests on the same standing offsets, gives another winner.
func (s *State) promoteHeld(d *Decision, t *Transition, c *Member) {
	if e := s.elect(t); e.winner == nil || e.winner.Name != c.Name {
		if i := slices.IndexFunc(s.Members, func(m Member) bool { return s.unheard(&m) }); i >= 0 {
			d.Why = fmt.Sprintf("Waiting to hear of %s before %s takes over.", s.Members[i].Name, c.Name)
			d.wake(s.Want.Detection)
			return
		}
		s.restart(d, t, t.To, t.ToUID, fmt.Sprintf("The elected member %s lost its data.", t.To))
		return
	}
	d.Why = fmt.Sprintf("%s takes over.", c.Name)
	d.add(Step{Assign: &Assign{Epoch: t.Epoch, Roles: map[string]Role{c.Name: Primary}}})
}

// restart elects anew in a higher epoch. The candidate given up becomes the member to be fenced:
// the one before it was fenced already, or the candidate would not have been elected.
func (s *State) restart(d *Decision, t *Transition, from, fromUID, why string) {
	next := s.Intent
	next.Transition = &Transition{Kind: t.Kind, Epoch: s.nextEpoch(), From: from, FromUID: fromUID, Reason: why}
	if t.Kind == HandOver {
		next.Transition.Kind = Failover
	}
	d.Why = why
	d.add(Step{Store: &next})
}

// higherEpochSeen: a member refuses this epoch, so a higher one is needed. Where a primary is stored,
// Decide has dealt with it.
func (s *State) higherEpochSeen(epoch int64) bool {
	for i := range s.Members {
		if a := s.Members[i].Agent; a != nil && a.Epoch > epoch {
			return true
		}
	}
	return false
}

// complete makes the promoted member the primary of the cluster: stored first, with everybody who
// will follow it in the sync set, then routed, then followed.
func (s *State) complete(d *Decision, t *Transition, p *Member) {
	next := Intent{Epoch: t.Epoch, Primary: p.Name, PrimaryUID: p.Pod.UID, SyncSet: s.followers(p), ReplID: p.Agent.Facts.ReplID}
	d.Why = fmt.Sprintf("%s is primary in epoch %d.", p.Name, t.Epoch)
	d.add(Step{Store: &next}, Step{Route: &Route{Pod: p.Name, UID: p.Pod.UID}})
	s.assignFollowers(d, p, t.Epoch, next.SyncSet)
	d.add(Step{Announce: &Announce{Occasion: completed(t.Kind), From: t.From, To: p.Name, Reason: t.Reason}})
	if n := s.discarded(p); n > 0 {
		d.add(Step{Announce: &Announce{Occasion: WritesDiscarded, From: s.Intent.Primary, To: p.Name, Bytes: n}})
	}
}

// discarded is how many bytes of its history the former primary holds beyond the point where the new
// one took over, as far as it is there to tell. Nobody confirmed them.
func (s *State) discarded(p *Member) int64 {
	former := s.member(s.Intent.Primary)
	if former == nil || former.Name == p.Name || !s.heldAt(former, 0) || former.Agent.Facts.ReplID != s.Intent.ReplID {
		return 0
	}
	if p.Agent.Facts.ReplID2 != s.Intent.ReplID || p.Agent.Facts.SecondOffset <= 0 {
		return 0
	}
	return max(0, former.Agent.Facts.Offset-(p.Agent.Facts.SecondOffset-1))
}

func completed(kind Kind) Occasion {
	switch kind {
	case Bootstrap:
		return Bootstrapped
	case HandOver:
		return HandOverCompleted
	case Failover:
		return FailoverCompleted
	}
	return FailoverCompleted
}

// followers are the members that can replicate from p now, or do.
func (s *State) followers(p *Member) []string {
	var out []string
	for _, m := range s.others(p.Name) {
		if (s.running(m) && !m.Agent.Stopping) || Attached(p, m.Pod.Address) {
			out = append(out, m.Name)
		}
	}
	return out
}

// assignHeld holds every member that speaks and is not held at the epoch yet. Servers that have not
// been started are started by it: held is how every server begins.
func (s *State) assignHeld(d *Decision, epoch int64) {
	roles := map[string]Role{}
	for i := range s.Members {
		m := &s.Members[i]
		if s.live(m) && m.Agent.Phase != Unresponsive && !s.heldAt(m, epoch) {
			roles[m.Name] = Held
		}
	}
	if len(roles) > 0 {
		d.add(Step{Assign: &Assign{Epoch: epoch, Roles: roles}})
	}
}
