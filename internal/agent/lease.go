package agent

import "time"

// fence is the state of the block on writes.
type fence string

const (
	fenceOff    fence = "off"
	fenceWanted fence = "wanted"
	fenceOn     fence = "on"
)

// leaseHolds says whether a primary may take writes: the manager has heard it less than a lease
// ago, or enough peers that know of no later epoch have. A member that is not to be primary, or
// has no peers that could take over, needs no lease.
func (m *member) leaseHolds(now time.Duration) bool {
	a := m.assigned
	if !m.granted || a == nil || len(a.Peers) == 0 || a.LeasePeers <= 0 {
		return true
	}
	return m.contacts.managerFresh(now, a.Lease) || m.contacts.agreeing(now, a.Lease) >= a.LeasePeers
}

// checkLease runs before anything else that the loop does: an agent that was frozen must block
// writes before it serves its peers or obeys anybody.
func (m *member) checkLease(now time.Duration) {
	if m.fence == fenceOff && !m.leaseHolds(now) {
		m.fence = fenceWanted
		m.fencedAtEpoch = m.epochs.Seen
	}
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
