package topology

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
)

// steady looks after a cluster whose primary serves: route, roles, the sync set, then, one at a
// time, what the spec asks to be changed.
func (s *State) steady(d *Decision) {
	p := s.member(s.Intent.Primary)
	d.State, d.Why = Settled, "Every member serves in its role."
	if !s.primaryAt(p, s.Intent.Epoch) {
		d.State, d.Why = FailingOver, fmt.Sprintf("%s takes its role in epoch %d.", p.Name, s.Intent.Epoch)
		d.add(Step{Assign: &Assign{Epoch: s.Intent.Epoch, Roles: map[string]Role{p.Name: Primary}}})
		return
	}
	if s.RoutedUID != p.Pod.UID {
		d.add(Step{Route: &Route{Pod: p.Name, UID: p.Pod.UID}})
	}
	syncSet := s.nextSyncSet(p)
	if replID := p.Agent.Facts.ReplID; !slices.Equal(syncSet, s.Intent.SyncSet) || replID != s.Intent.ReplID {
		next := s.Intent
		next.SyncSet, next.ReplID = syncSet, replID
		d.add(Step{Store: &next})
	}
	s.assignFollowers(d, p, s.Intent.Epoch, syncSet)
	s.noteJoining(d, p)
	if slices.ContainsFunc(syncSet, func(name string) bool { return len(syncSet) > 1 && s.writtenWithout(name, p) >= 0 }) {
		// A lost member stays until another has confirmed enough, and offsets wake nobody.
		d.wake(time.Second)
	}
	if len(p.Agent.Facts.Replicas) == 0 && len(s.others(p.Name)) > 1 {
		// Whether it is cut off shows by ages, and those wake nobody.
		d.wake(s.Want.Detection)
	}
	if s.killGhost(d, p) {
		return
	}
	s.change(d, p)
}

// killGhost ends a replica whose pod is gone from the API while its agent speaks: it would go on
// confirming writes under the name of its successor.
func (s *State) killGhost(d *Decision, p *Member) bool {
	for _, g := range s.Ghosts {
		if g.Connected && !g.Dead && g.UID != p.Pod.UID {
			why := fmt.Sprintf("The pod %s was deleted while its server runs on.", g.Name)
			d.add(Step{Kill: &Kill{Pod: g.Name, UID: g.UID, Epoch: s.Intent.Epoch, Reason: why}})
			return true
		}
	}
	return false
}

// assignFollowers gives every other member that runs its place: behind the primary when it is in the
// sync set, held otherwise. The primary is told again, so that new wishes reach it; equal wishes are
// not sent. The primary's own data is never the smaller side: see mayFollow.
func (s *State) assignFollowers(d *Decision, p *Member, epoch int64, syncSet []string) {
	roles := map[string]Role{}
	if !p.Agent.Stopping {
		roles[p.Name] = Primary
	}
	for _, m := range s.others(p.Name) {
		if !s.live(m) || m.Agent.Phase == Unresponsive || m.Agent.Stopping {
			continue
		}
		if s.running(m) && slices.Contains(syncSet, m.Name) && s.mayFollow(m, p) {
			roles[m.Name] = Replica
		} else if !s.running(m) || !slices.Contains(syncSet, m.Name) {
			roles[m.Name] = Held
		}
	}
	d.add(Step{Assign: &Assign{Epoch: epoch, Primary: p.Name, Roles: roles}})
}

// mayFollow: a member with data never follows a primary that has none (I5), unless the primary's own
// note says that it had none before either: then what the member has was never confirmed.
func (s *State) mayFollow(m, p *Member) bool {
	f := p.Agent.Facts
	if f.Keys > 0 || f.Offset > 0 || m.Agent.Facts.Keys == 0 {
		return true
	}
	return f.Stored != nil && f.Stored.ReplID != "" && f.Stored.Keys == 0
}

// nextSyncSet keeps the set of members that may hold a confirmed write which no other replica holds.
// A member is added before it may follow, or when the primary lists it although nobody hears it. It
// is taken out only when the primary itself says that it is not attached, and another member of the
// set has all that the primary had written by then; the last one never is.
func (s *State) nextSyncSet(p *Member) []string {
	set := slices.DeleteFunc(slices.Clone(s.Intent.SyncSet), func(name string) bool { return name == p.Name })
	for _, m := range s.others(p.Name) {
		joins := s.running(m) && !m.Agent.Stopping && s.mayFollow(m, p)
		if !slices.Contains(set, m.Name) && (joins || Attached(p, m.Pod.Address)) {
			set = append(set, m.Name)
		}
	}
	slices.Sort(set)
	for _, name := range slices.Clone(set) {
		if s.mayLeave(name, set, p) {
			set = slices.DeleteFunc(set, func(n string) bool { return n == name })
		}
	}
	return set
}

// mayLeave says whether a member holds nothing that another of the set, in step and so going to stay,
// does not hold too. One is enough: no election is held without it. Where one member is wanted, the
// primary alone is what the spec asks for.
func (s *State) mayLeave(name string, set []string, p *Member) bool {
	written := s.writtenWithout(name, p)
	if written < 0 {
		return false
	}
	if s.Want.Replicas == 1 {
		return true
	}
	return slices.ContainsFunc(set, func(rest string) bool {
		r := s.member(rest)
		return rest != name && r != nil && s.linked(r, p) && confirmed(p, r.Pod.Address) >= written
	})
}

// writtenWithout is an offset of the primary below which lies everything that the member may have
// confirmed; negative while it may still confirm something. For a member that was removed for
// good nobody has noted when it went, so it is the primary's offset now.
func (s *State) writtenWithout(name string, p *Member) int64 {
	m := s.member(name)
	switch {
	case m == nil && s.strangerAttached(p):
		return -1
	case m == nil:
		return p.Agent.Facts.Offset
	case s.running(m) || Attached(p, m.Pod.Address):
		return -1
	}
	return m.DetachedAt
}

// strangerAttached says whether the primary lists a replica that is no member: perhaps a removed one
// that lives on.
func (s *State) strangerAttached(p *Member) bool {
	return slices.ContainsFunc(p.Agent.Facts.Replicas, func(r facts.ReplicaLink) bool {
		return !slices.ContainsFunc(s.Members, func(m Member) bool { return m.Pod.Address == r.Host })
	})
}

// Attached says whether the primary lists a replica of that address.
func Attached(p *Member, address string) bool {
	if address == "" {
		return false
	}
	for _, r := range p.Agent.Facts.Replicas {
		if r.Host == address {
			return true
		}
	}
	return false
}

// confirmed is the offset that the replica of that address has confirmed to the primary.
func confirmed(p *Member, address string) int64 {
	for _, r := range p.Agent.Facts.Replicas {
		if r.Host == address && r.Online {
			return r.Offset
		}
	}
	return -1
}

// noteJoining says which members are on their way.
func (s *State) noteJoining(d *Decision, p *Member) {
	var joining []string
	for _, m := range s.others(p.Name) {
		if m.Ordinal < s.Want.Replicas && !s.linked(m, p) {
			joining = append(joining, m.Name)
		}
	}
	for i := len(s.Members); i < s.Want.Replicas; i++ {
		joining = append(joining, "a member to be created")
	}
	if len(joining) > 0 {
		d.State, d.Why = Joining, fmt.Sprintf("Waiting for %s to replicate from %s.", strings.Join(joining, ", "), p.Name)
	}
}
