package topology

import (
	"fmt"
	"time"
)

// leaseMargin is added to every lease before it counts as run out. It covers the time between an
// agent's look at its clock and the write fence being in force.
const leaseMargin = 300 * time.Millisecond

// fence says whether the server that was primary so far can still take writes. It is safe when
// the server is proven dead or held in the new epoch, or when nobody has prolonged its lease for
// longer than the lease lasts.
type fence struct {
	safe      bool
	why       string
	wakeAfter time.Duration
	// kill names an incarnation that speaks and has to be killed.
	kill *Kill
}

func (s *State) fenceOf(name, uid string, epoch int64) fence {
	if uid == "" {
		return fence{safe: true}
	}
	m := s.member(name)
	if m == nil || !m.Pod.Exists || m.Pod.UID != uid {
		return s.fenceOfGhost(name, uid, epoch)
	}
	if m.Agent != nil && m.Agent.Final {
		return fence{safe: true}
	}
	if s.live(m) {
		return s.fenceOfLive(m, epoch)
	}
	return s.leaseOf(name, m.Link.Silent, epoch)
}

// fenceOfLive: an agent that speaks is told, not waited for. One whose server hangs is killed.
func (s *State) fenceOfLive(m *Member, epoch int64) fence {
	switch m.Agent.Phase {
	case Down, Waiting:
		return fence{safe: true}
	case Starting:
		// It starts as a replica of nowhere; nothing older than what it has seen can make it primary.
		return fence{safe: true}
	case Unresponsive:
		why := fmt.Sprintf("The server of %s does not answer.", m.Name)
		return fence{why: why, kill: &Kill{Pod: m.Name, UID: m.Pod.UID, Epoch: epoch, Reason: why}}
	case Running:
	}
	if !m.Agent.Facts.IsPrimary && !handingOver(m) && m.Agent.Epoch >= epoch {
		return fence{safe: true}
	}
	return fence{why: fmt.Sprintf("Waiting for %s to give up its role.", m.Name)}
}

func (s *State) fenceOfGhost(name, uid string, epoch int64) fence {
	g := s.ghost(uid)
	switch {
	case g != nil && g.Dead:
		return fence{safe: true}
	case g != nil && g.Connected:
		why := fmt.Sprintf("The pod %s was deleted while its server runs on.", name)
		return fence{why: why, kill: &Kill{Pod: name, UID: uid, Epoch: epoch, Reason: why}}
	case g != nil:
		return s.leaseOf(name, g.Silent, epoch)
	}
	// Not even a ghost: this manager has never heard that incarnation. One before it may have, a moment
	// before this one began to watch.
	return s.leaseOf(name, s.WatchedFor, epoch)
}

// leaseOf waits until the lease of a server that is out of reach has surely run out: this manager
// has not echoed it, and no reachable member has answered it in an epoch that it accepts, for
// longer than the lease. A member that has seen the new epoch prolongs nothing any more, so it
// counts from then on at the latest. Members out of reach are not counted here: the election waits for them.
func (s *State) leaseOf(name string, silent time.Duration, epoch int64) fence {
	need := s.Want.Lease + leaseMargin
	left := need - silent
	for _, m := range s.others(name) {
		if !s.live(m) {
			continue
		}
		t, ok := m.Agent.Peers[name]
		if !ok || t.Called < 0 {
			continue
		}
		age := t.Called
		if m.Agent.Epoch >= epoch {
			age = max(age, m.Agent.EpochAge)
		}
		left = max(left, need-age)
	}
	if left <= 0 {
		return fence{safe: true}
	}
	return fence{why: fmt.Sprintf("Waiting until the lease of %s has run out.", name), wakeAfter: left}
}
