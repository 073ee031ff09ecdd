package agent

import (
	"math"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// forever is a time that does not come.
const forever time.Duration = math.MaxInt64

// fence is the state of the block on writes.
type fence string

const (
	fenceOff    fence = "off"
	fenceWanted fence = "wanted"
	fenceOn     fence = "on"
)

// fenceWithin is how long the server may take to confirm the fence. What then still may take writes
// is killed: the manager counts on it that nobody writes this long after a lease.
const fenceWithin = 250 * time.Millisecond

// mayWrite says whether the server takes writes, or is about to: also one that became primary as
// the target of a hand-over and was not yet told so.
func (m *member) mayWrite() bool {
	return m.promoting || m.observed != nil && m.observed.Role == wire.RolePrimary
}

// leaseEnds is when the lease runs out: a lease after the manager is known to have heard this agent,
// or after enough peers that know of no later epoch have answered. forever if none is needed: there
// are no peers that could take over.
func (m *member) leaseEnds() time.Duration {
	a := m.assigned
	if a == nil || len(a.Peers) == 0 || a.LeasePeers <= 0 {
		return forever
	}
	return max(m.contacts.manager, m.contacts.agreedAt(a.LeasePeers)) + a.Lease
}

// leaseHolds says whether a primary may take writes.
func (m *member) leaseHolds(now time.Duration) bool { return now < m.leaseEnds() }

// checkLease runs before anything else that the loop does: an agent that was frozen must block
// writes before it serves its peers or obeys anybody.
func (m *member) checkLease(now time.Duration) {
	if m.fence == fenceOff && m.mayWrite() && !m.leaseHolds(now) {
		m.fence = fenceWanted
		m.fencedAtEpoch = m.epochs.Seen
	}
}

// fenceIsLate says whether a server without a lease could still take writes and must be killed.
func (m *member) fenceIsLate(now time.Duration) bool {
	return m.fence == fenceWanted && m.mayWrite() && now >= m.leaseEnds()+fenceWithin
}

// fenceMayLift says whether the lease that ran out holds again by the manager's word. Peers alone
// never lift it: they may be cut off together with this primary.
func (m *member) fenceMayLift(now time.Duration) bool {
	a := m.assigned
	return m.granted && a != nil && m.contacts.managerFresh(now, a.Lease) &&
		m.epochs.Seen == m.fencedAtEpoch && m.contacts.highestPeerEpoch <= m.epochs.Seen
}

// silentPeers names the peers that have been out of touch for a lease: the manager is to hear of it
// when that begins, since it may decide once it has lasted.
func (m *member) silentPeers(now time.Duration) []string {
	if m.assigned == nil {
		return nil
	}
	return m.contacts.silent(now, m.assigned.Lease)
}

// isIsolated says whether nobody was in touch for so long that the server must not even serve reads.
func (m *member) isIsolated(now time.Duration) bool {
	a := m.assigned
	if a == nil || len(a.Peers) == 0 || a.Isolation <= 0 {
		return false
	}
	return now-m.contacts.lastTouch() >= a.Isolation
}
