package topology

import (
	"cmp"
	"fmt"
	"slices"
)

// gathered says whether the member is held at the epoch: it confirms nothing to anybody, and its offset stands still.
func (s *State) gathered(m *Member, epoch int64) bool { return s.heldAt(m, epoch) }

// quorum is what the election found about the members that may hold confirmed writes.
type quorum struct {
	met bool
	// complete: every member of the sync set is there, and one of them at least was in step.
	complete bool
	missing  []string
}

// quorum demands every member that may hold a write which one replica confirmed (WAIT 1) and no
// other has: the members of the sync set, but for those that are held and turn out never to have
// been in step with the stored primary, for they confirmed nothing to it. The primary so far,
// back with all its data, is as good as all of them. A person may accept the loss instead.
func (s *State) quorum(epoch int64) quorum {
	var q quorum
	var have int
	for _, name := range s.Intent.SyncSet {
		m := s.member(name)
		switch {
		case m == nil || !s.gathered(m, epoch):
			q.missing = append(q.missing, name)
		case s.carries(m) && !positionOf(m).empty:
			have++
		}
	}
	q.complete = have > 0 && len(q.missing) == 0
	q.met = q.complete || s.formerSuffices(epoch) || s.nothingElseToCome(epoch)
	if !q.met && len(q.missing) == 0 {
		q.missing = []string{s.Intent.Primary}
	}
	return q
}

// formerSuffices says whether the primary so far stands in for the sync set. Where there is no
// sync set, nothing was ever confirmed, and whatever it still has is all there is.
func (s *State) formerSuffices(epoch int64) bool {
	f := s.member(s.Intent.Primary)
	if f == nil || !s.gathered(f, epoch) {
		return false
	}
	return s.intact(f) || (len(s.Intent.SyncSet) == 0 && !positionOf(f).lost)
}

// nothingElseToCome says whether waiting is in vain: a person said so, or every member is there and
// none has a volume from which a lost copy could come back.
func (s *State) nothingElseToCome(epoch int64) bool {
	if s.Want.AcceptLoss {
		return s.anyGathered(epoch)
	}
	outside := slices.ContainsFunc(s.Members, func(m Member) bool { return m.Pod.Exists && !s.gathered(&m, epoch) })
	return s.Want.Ephemeral && s.everybody(epoch).met && !outside
}

func (s *State) anyGathered(epoch int64) bool {
	for i := range s.Members {
		if s.gathered(&s.Members[i], epoch) {
			return true
		}
	}
	return false
}

// election is the outcome of comparing the gathered members.
type election struct {
	winner *Member
	// divergent explains why nobody was chosen: the data has several origins.
	divergent string
	// empty: no gathered member has any data.
	empty bool
}

// elect chooses the gathered member whose data reaches furthest.
func (s *State) elect(t *Transition) election {
	var all []position
	for i := range s.Members {
		if m := &s.Members[i]; s.gathered(m, t.Epoch) {
			all = append(all, positionOf(m))
		}
	}
	if len(all) == 0 {
		return election{}
	}
	withData := slices.DeleteFunc(slices.Clone(all), func(p position) bool { return p.empty })
	if t.Kind == Bootstrap {
		if why := divergence(withData); why != "" && !s.Want.AcceptLoss {
			return election{divergent: why}
		}
		return s.furthest(all, youngest(withData))
	}
	if heir := s.electHeir(all, t); heir != nil {
		return election{winner: heir}
	}
	if s.nothingElseToCome(t.Epoch) {
		return s.furthest(all, youngest(withData))
	}
	if len(withData) == 0 {
		return election{winner: lowestOrdinal(all).member, empty: true}
	}
	return election{}
}

// furthest chooses among members of which nobody knows who was in step with whom. One without keys does
// not lead over keys that are not known to be older.
func (s *State) furthest(all, withData []position) election {
	withData = slices.DeleteFunc(slices.Clone(withData), func(p position) bool {
		return p.keys() == 0 && slices.ContainsFunc(withData, func(q position) bool { return q.keys() > 0 && q.epoch >= p.epoch })
	})
	if len(withData) == 0 {
		return election{winner: lowestOrdinal(all).member, empty: true}
	}
	return election{winner: slices.MinFunc(withData, s.compare).member}
}

// electHeir chooses among the members that continue the history of the stored primary, and itself.
func (s *State) electHeir(all []position, t *Transition) *Member {
	var heirs []position
	var former *position
	var formerThere bool
	for _, p := range all {
		switch {
		case p.member.Name == s.Intent.Primary:
			formerThere = true
			if !p.lost {
				former = &p
			}
		case s.mayInherit(p):
			heirs = append(heirs, p)
		}
	}
	switch {
	case len(heirs) == 0 && former == nil:
		return nil
	case len(heirs) == 0:
		return former.member
	}
	if !formerThere && s.onlyNotes(heirs) {
		return nil
	}
	best := slices.MinFunc(heirs, s.compareHeirs)
	if former != nil && s.formerFirst(*former, best, heirs, t) {
		return former.member
	}
	return best.member
}

// onlyNotes: all of several heirs were restarted and none can say how far it goes. One note may be older
// than the data that another note speaks of, so the primary so far, which had it all, is waited for.
func (s *State) onlyNotes(heirs []position) bool {
	if len(s.Intent.SyncSet) < 2 || s.Want.AcceptLoss {
		return false
	}
	return !slices.ContainsFunc(heirs, func(p position) bool { return p.known })
}

// mayInherit: the members of the sync set, and whoever else has kept the primary's history in
// memory: what it holds is the beginning of that history, whether anybody counted on it or not.
func (s *State) mayInherit(p position) bool {
	return s.carries(p.member) && !p.empty && (p.continuous || s.inSyncSet(p.member.Name) || s.Want.AcceptLoss)
}

// compareHeirs orders the better heir first. All of them hold the beginning of one history, so the
// one that reaches further has all that the other has. A note only says how far at least.
func (s *State) compareHeirs(a, b position) int {
	return cmp.Or(
		cmp.Compare(s.reach(b), s.reach(a)),
		truthFirst(a.known, b.known),
		cmp.Compare(b.offset, a.offset),
		cmp.Compare(len(a.member.Pod.Outdated), len(b.member.Pod.Outdated)),
		cmp.Compare(a.member.Ordinal, b.member.Ordinal),
	)
}

// formerFirst says whether the primary so far is to lead again, and not the best of its heirs.
func (s *State) formerFirst(former, best position, heirs []position, t *Transition) bool {
	switch {
	case !s.quorum(t.Epoch).complete && s.intact(former.member):
		// Members are missing that may hold more than the heirs; it has what any of them has.
		return true
	case !former.known:
		// It read back its data and cannot say how far it goes. After a power cut it may lack the last
		// moment, so an heir that was not restarted is better; one that was is in the same position.
		return !slices.ContainsFunc(heirs, func(p position) bool { return p.known })
	case s.outOfTheirReach(former, heirs):
		return false
	case !s.carries(former.member) && !former.continuous:
		return false
	}
	return s.compareHeirs(former, best) < 0
}

// outOfTheirReach: nobody could replicate from a member that no other reaches, while one in step is
// there: what it alone holds was never confirmed.
func (s *State) outOfTheirReach(former position, heirs []position) bool {
	var inStep bool
	for _, p := range heirs {
		if s.inTouch(p.member, former.member.Name) {
			return false
		}
		inStep = inStep || (p.continuous && s.inSyncSet(p.member.Name))
	}
	return inStep
}

// compare orders the better position first, of members whose common history is not known.
func (s *State) compare(a, b position) int {
	return cmp.Or(
		truthFirst(a.continuous, b.continuous),
		s.byLineage(a, b),
		cmp.Compare(len(a.member.Pod.Outdated), len(b.member.Pod.Outdated)),
		cmp.Compare(a.member.Ordinal, b.member.Ordinal),
	)
}

// byLineage compares offsets, which mean something only within one lineage. Members that were
// restarted from disk may know theirs only roughly, so there the primary so far comes first: what
// it wrote to disk is never behind its replicas.
func (s *State) byLineage(a, b position) int {
	exact := a.known && b.known && shareLineage(a.lineages, b.lineages)
	if a.continuous || b.continuous || exact {
		return cmp.Compare(b.offset, a.offset)
	}
	return cmp.Or(
		truthFirst(a.member.Name == s.Intent.Primary, b.member.Name == s.Intent.Primary),
		cmp.Compare(b.epoch, a.epoch),
		truthFirst(a.wasPrimary, b.wasPrimary),
		cmp.Compare(b.offset, a.offset),
	)
}

func truthFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func lowestOrdinal(ps []position) position {
	return slices.MinFunc(ps, func(a, b position) int { return cmp.Compare(a.member.Ordinal, b.member.Ordinal) })
}

// youngest drops members whose lineage another one has left behind by a promotion.
func youngest(ps []position) []position {
	return slices.DeleteFunc(slices.Clone(ps), func(p position) bool {
		id := p.member.Agent.Facts.ReplID
		return p.known && slices.ContainsFunc(ps, func(q position) bool {
			f := q.member.Agent.Facts
			return q.known && f.ReplID2 == id && f.ReplID != id && id != ""
		})
	})
}

// divergence finds data of different origin among members that meet for the first time. A higher
// stored epoch settles it; two lineages in the same epoch do not.
func divergence(ps []position) string {
	if len(ps) == 0 {
		return ""
	}
	top := slices.MaxFunc(ps, func(a, b position) int { return cmp.Compare(a.epoch, b.epoch) })
	first := -1
	for i, p := range ps {
		// Without keys there is nothing that could be lost.
		if p.epoch != top.epoch || len(p.lineages) == 0 || p.keys() == 0 {
			continue
		}
		if first < 0 {
			first = i
			continue
		}
		if !shareLineage(ps[first].lineages, p.lineages) {
			return fmt.Sprintf("%s and %s hold data of different origin.", ps[first].member.Name, p.member.Name)
		}
	}
	return ""
}
