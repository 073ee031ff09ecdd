package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// gathered says whether the member is held at the epoch: it confirms nothing to anybody, and its offset stands still.
func (s *State) gathered(m *Member, epoch int64) bool { return s.heldAt(m, epoch) }

// quorum is what the election found about the members that may hold confirmed writes.
type quorum struct {
	met     bool
	missing []string
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
		case s.carries(m):
			have++
		}
	}
	q.met = have > 0 && len(q.missing) == 0
	if !q.met && len(q.missing) == 0 {
		q.missing = []string{s.Intent.Primary}
	}
	if f := s.member(s.Intent.Primary); f != nil && s.gathered(f, epoch) && intact(f) {
		q.met = true
	}
	if s.Want.AcceptLoss && s.anyGathered(epoch) {
		q.met = true
	}
	return q
}

// carries says whether the member's data continues the history of the stored primary. One that was
// never in step with it may lack what was confirmed before.
func (s *State) carries(m *Member) bool {
	return s.Intent.ReplID == "" || slices.Contains(positionOf(m).lineages, s.Intent.ReplID)
}

// intact says whether a restarted server has read back all that the agent knows it had.
func intact(m *Member) bool {
	p := positionOf(m)
	return !p.empty && (!p.known || p.continuous)
}

func (s *State) anyGathered(epoch int64) bool {
	for i := range s.Members {
		if s.gathered(&s.Members[i], epoch) {
			return true
		}
	}
	return false
}

// position is how far a member's data reaches.
type position struct {
	member *Member
	// continuous: the data was never out of this server's memory since it was in step. After a
	// restart from disk, what the agent stored beside the data stands in for it.
	continuous bool
	epoch      int64
	wasPrimary bool
	lineages   []string
	offset     int64
	// known: the offset is the server's own word, not the agent's note from before the restart.
	known bool
	empty bool
}

func positionOf(m *Member) position {
	f := m.Agent.Facts
	p := position{member: m, offset: f.Offset, lineages: nonEmpty(f.ReplID, f.ReplID2), known: f.Offset > 0}
	if f.Stored == nil {
		p.continuous = f.Offset > 0
		p.empty = f.Keys == 0 && f.Offset == 0
		return p
	}
	p.epoch, p.wasPrimary = f.Stored.Epoch, f.Stored.WasPrimary
	stored := nonEmpty(f.Stored.ReplID)
	if f.Offset == 0 {
		// Loaded from a file that does not carry the offset: the agent's note stands in for it.
		p.offset, p.lineages = f.Stored.Offset, stored
		// A note that speaks of keys where there are none: the volume kept the note and lost the data.
		p.empty = f.Keys == 0 && (f.Stored.Keys > 0 || f.Stored.Offset == 0)
		return p
	}
	movedOn := !shareLineage(p.lineages, stored)
	p.continuous = movedOn || f.Offset >= f.Stored.Offset
	return p
}

func nonEmpty(ids ...string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" || strings.Trim(id, "0") == "" })
}

// election is the outcome of comparing the gathered members.
type election struct {
	winner *Member
	// divergent explains why nobody was chosen: the data has several origins.
	divergent string
	// empty: no gathered member has any data.
	empty bool
}

// elect chooses the gathered member whose data reaches furthest. With a sync set, only its members
// and, after everything was restarted, the primary so far may win: others may lack confirmed writes.
func (s *State) elect(t *Transition) election {
	var all []position
	for i := range s.Members {
		if m := &s.Members[i]; s.gathered(m, t.Epoch) && s.eligible(m, t) {
			all = append(all, positionOf(m))
		}
	}
	if len(all) == 0 {
		return election{}
	}
	withData := slices.DeleteFunc(slices.Clone(all), func(p position) bool { return p.empty })
	if len(withData) == 0 {
		return election{winner: lowestOrdinal(all).member, empty: true}
	}
	withData = s.withoutFormer(withData, t)
	if t.Kind == Bootstrap {
		if why := divergence(withData); why != "" {
			return election{divergent: why}
		}
	}
	slices.SortFunc(withData, s.compare)
	return election{winner: withData[0].member}
}

// withoutFormer drops the primary so far when no other member reaches it while one of the sync set,
// in step, is there: what it alone holds was never confirmed, and nobody could replicate from it.
func (s *State) withoutFormer(ps []position, t *Transition) []position {
	former := s.Intent.Primary
	reached := false
	inStep := false
	for _, p := range ps {
		if p.member.Name == former {
			continue
		}
		reached = reached || s.inTouch(p.member, former)
		inStep = inStep || (p.continuous && s.inSyncSet(p.member.Name))
	}
	if t.Kind == Bootstrap || reached || !inStep {
		return ps
	}
	return slices.DeleteFunc(ps, func(p position) bool { return p.member.Name == former })
}

// eligible: the members of the sync set, and everybody where there is none or a person accepts the loss.
// The primary so far is eligible too; compare ranks it by what it still has.
func (s *State) eligible(m *Member, t *Transition) bool {
	if t.Kind == Bootstrap || s.Want.AcceptLoss || m.Name == s.Intent.Primary {
		return true
	}
	return s.inSyncSet(m.Name) && s.carries(m)
}

// compare orders the better position first.
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
	if !a.continuous && !b.continuous && !exact {
		return cmp.Or(
			truthFirst(a.member.Name == s.Intent.Primary, b.member.Name == s.Intent.Primary),
			cmp.Compare(b.epoch, a.epoch),
			truthFirst(a.wasPrimary, b.wasPrimary),
			cmp.Compare(b.offset, a.offset),
		)
	}
	return cmp.Compare(b.offset, a.offset)
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

// divergence finds data of different origin among members that meet for the first time. A higher
// stored epoch settles it; two lineages in the same epoch do not.
func divergence(ps []position) string {
	top := slices.MaxFunc(ps, func(a, b position) int { return cmp.Compare(a.epoch, b.epoch) })
	first := -1
	for i, p := range ps {
		if p.epoch != top.epoch || len(p.lineages) == 0 {
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

func shareLineage(a, b []string) bool {
	return slices.ContainsFunc(a, func(id string) bool { return slices.Contains(b, id) })
}
