package topology

import (
	"fmt"
	"strings"
	"time"
)

// verdict is what the observations say about the primary. Every value has a row in docs/designs/failover.md.
type verdict int

const (
	// serving: it takes writes in the current epoch.
	serving verdict = iota
	// leaving: it serves, and its pod is about to end.
	leaving
	// cutOff: it serves, but no other member can reach it, while they reach each other.
	cutOff
	// dead: its server is proven to be down, or is held since a restart.
	dead
	// orphaned: its pod is gone from the API and its server lives on.
	orphaned
	// unresponsive: its agent says that the server has not answered for the time of detection.
	unresponsive
	// unreachable: neither the manager nor any member has heard of it for the time of detection.
	unreachable
	// suspect: one of the three above may come true; too early to say.
	suspect
	// unknown: the manager does not hear it, but another member does, or nobody is there to say.
	unknown
)

type condition struct {
	verdict   verdict
	why       string
	wakeAfter time.Duration
}

// primaryCondition judges the pod that status names as primary, by name and UID.
func (s *State) primaryCondition() condition {
	p := s.member(s.Intent.Primary)
	if p == nil || !p.Pod.Exists || p.Pod.UID != s.Intent.PrimaryUID {
		return s.vanished()
	}
	switch {
	case p.Agent != nil && p.Agent.Final:
		return condition{verdict: dead, why: fmt.Sprintf("The server of %s was stopped.", p.Name)}
	case s.live(p):
		return s.livePrimary(p)
	case p.Link.Silent < s.Want.Detection:
		return condition{
			verdict: suspect, wakeAfter: s.Want.Detection - p.Link.Silent,
			why: fmt.Sprintf("The connection to the agent of %s broke; waiting whether it is out of reach.", p.Name),
		}
	}
	return s.outOfReach(p.Name)
}

// livePrimary judges a primary whose agent speaks.
func (s *State) livePrimary(p *Member) condition {
	switch p.Agent.Phase {
	case Down:
		return condition{verdict: dead, why: fmt.Sprintf("The server of %s is down.", p.Name)}
	case Waiting, Starting:
		return condition{verdict: dead, why: fmt.Sprintf("The server of %s was restarted.", p.Name)}
	case Unresponsive:
		if left := s.Want.Detection - p.Agent.UnresponsiveFor; left > 0 {
			return condition{verdict: suspect, wakeAfter: left, why: fmt.Sprintf("The server of %s does not answer.", p.Name)}
		}
		return condition{verdict: unresponsive, why: fmt.Sprintf("The server of %s has not answered for %s.", p.Name, s.Want.Detection)}
	case Running:
	}
	if !p.Agent.Facts.IsPrimary {
		return condition{verdict: dead, why: fmt.Sprintf("The server of %s is not primary any more.", p.Name)}
	}
	if p.Agent.Epoch < s.Intent.Epoch {
		// Stored, not yet told: the promotion is repeated by steady.
		return condition{verdict: serving}
	}
	if p.Agent.Stopping || p.Pod.Terminating {
		return condition{verdict: leaving, why: fmt.Sprintf("The pod %s is being stopped.", p.Name)}
	}
	if s.cutFromMembers(p) {
		return condition{verdict: cutOff, why: fmt.Sprintf("No other member can reach %s, and they reach each other.", p.Name)}
	}
	return condition{verdict: serving, wakeAfter: s.untilCutOff(p)}
}

// untilCutOff is when to ask again whether the primary is cut off from the members: ages grow without
// anybody being woken. 0: it is in touch with one of them.
func (s *State) untilCutOff(p *Member) time.Duration {
	others := s.others(p.Name)
	if len(others) < 2 {
		return 0
	}
	left := time.Duration(0)
	for _, m := range others {
		t, ok := p.Agent.Peers[m.Name]
		if !ok || within(t.Answered, s.Want.Lease) {
			return 0
		}
		left = max(left, s.Want.Detection-t.Answered)
	}
	if left <= 0 {
		// Out of touch for long enough; the engine's own ages are whole seconds.
		left = time.Second
	}
	return left
}

// cutFromMembers is true when the primary has no replica, has been out of touch with every other
// member for the time of detection, and each of the others reaches another one. One other member
// alone cannot tell on which side the cut is.
func (s *State) cutFromMembers(p *Member) bool {
	others := s.others(p.Name)
	if len(others) < 2 || s.hearsReplica(p) || p.Agent.EpochAge < s.Want.Detection {
		// In a new epoch the ages may be from before, when it was cut off and not primary.
		return false
	}
	for _, m := range others {
		if !s.running(m) || s.hearsFrom(m, p.Name) || s.inTouch(m, p.Name) || !s.inTouchWithAnother(m, p.Name) {
			return false
		}
		// The primary's own side of the story: a peer that never answered it was never cut from it.
		if t, ok := p.Agent.Peers[m.Name]; !ok || t.Answered < s.Want.Detection {
			return false
		}
	}
	return true
}

// hearsReplica says whether a replica confirmed something to the primary within the time of detection.
// The engine itself lets go of a silent replica much later.
func (s *State) hearsReplica(p *Member) bool {
	for _, r := range p.Agent.Facts.Replicas {
		if time.Duration(r.LagSeconds)*time.Second < s.Want.Detection {
			return true
		}
	}
	return false
}

// inTouch says whether the agents of m and of the named member heard each other within the time of detection.
func (s *State) inTouch(m *Member, name string) bool {
	t, ok := m.Agent.Peers[name]
	if !ok {
		return false
	}
	return within(t.Answered, s.Want.Detection) || within(t.Called, s.Want.Detection)
}

func within(age, limit time.Duration) bool { return age >= 0 && age < limit }

func (s *State) inTouchWithAnother(m *Member, except string) bool {
	for name := range m.Agent.Peers {
		if name != except && s.inTouch(m, name) {
			return true
		}
	}
	return false
}

// vanished judges a primary whose pod is not in the API any more, or has a successor of its name.
func (s *State) vanished() condition {
	name := s.Intent.Primary
	g := s.ghost(s.Intent.PrimaryUID)
	switch {
	case g != nil && g.Dead:
		return condition{verdict: dead, why: fmt.Sprintf("The pod %s is gone and its server was stopped.", name)}
	case g != nil && g.Connected:
		return condition{verdict: orphaned, why: fmt.Sprintf("The pod %s was deleted while its server runs on.", name)}
	}
	// That pod never comes back, so nothing is gained by waiting here; the fence waits for its lease.
	return condition{verdict: unreachable, why: fmt.Sprintf("The pod %s is gone, without word from its server.", name)}
}

// outOfReach judges a primary that the manager does not hear. Only members that speak can say that
// it is out of reach for them too. Without every member of the sync set nobody could be elected, so
// until they all speak nothing is taken from a primary that may serve; a person's consent stands in.
func (s *State) outOfReach(name string) condition {
	var asked int
	var missing []string
	for _, m := range s.others(name) {
		if !s.live(m) {
			if s.inSyncSet(m.Name) {
				missing = append(missing, m.Name)
			}
			continue
		}
		asked++
		if s.inTouch(m, name) || s.hearsFrom(m, name) {
			// Ages grow without anybody being woken.
			return condition{
				verdict: unknown, wakeAfter: s.untilOutOfTouch(m, name),
				why: fmt.Sprintf("The operator cannot reach %s, but %s can.", name, m.Name),
			}
		}
	}
	if asked == 0 {
		return condition{verdict: unknown, why: fmt.Sprintf("The operator cannot reach %s, nor any member that could tell.", name)}
	}
	if len(missing) > 0 && !s.Want.AcceptLoss {
		return condition{verdict: unknown, why: fmt.Sprintf("The operator cannot reach %s, nor %s, which may hold confirmed writes.", name, strings.Join(missing, ", "))}
	}
	return condition{verdict: unreachable, why: fmt.Sprintf("Neither the operator nor any other member has heard from %s for %s.", name, s.Want.Detection)}
}

// untilOutOfTouch is when the member's last word with the named one will be as old as the time of detection.
func (s *State) untilOutOfTouch(m *Member, name string) time.Duration {
	left := time.Duration(0)
	for _, age := range []time.Duration{m.Agent.Peers[name].Answered, m.Agent.Peers[name].Called} {
		if within(age, s.Want.Detection) {
			left = max(left, s.Want.Detection-age)
		}
	}
	if left == 0 {
		// Its server hears the primary, which the engine tells in whole seconds.
		left = time.Second
	}
	return left
}

// hearsFrom says whether the member's server received something from that primary within the time of detection.
func (s *State) hearsFrom(m *Member, name string) bool {
	p := s.member(name)
	if p == nil || m.Agent.Phase != Running {
		return false
	}
	f := m.Agent.Facts
	if !f.LinkUp || f.Following == "" || f.Following != p.Pod.Address {
		return false
	}
	// The engine counts whole seconds.
	return f.LastIOMillis >= 0 && time.Duration(f.LastIOMillis)*time.Millisecond+time.Second < s.Want.Detection
}
