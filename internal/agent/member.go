package agent

import (
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// member is all that the loop knows. It has no locks, no goroutines and no clock: only the loop
// touches it, and the time is an argument.
type member struct {
	id     Identity
	epochs Epochs
	// epochAt is when this process first saw epochs.Seen.
	epochAt time.Duration
	// spent is the highest epoch as primary that this member has lost.
	spent int64

	// assigned is the newest accepted assignment. Its wishes configure a server that restarts; its
	// role is only taken while pending.
	assigned *wire.Assignment
	// digestOfAssigned names assigned; digest the one that was applied completely.
	digestOfAssigned, digest string
	assignmentError          string
	// pending: assigned waits to be applied, not before retryAt.
	pending bool
	retryAt time.Duration
	// roleInForce: the server has the role of assigned.
	roleInForce bool
	// granted: this very server process may be primary. Its death ends that, whatever was assigned.
	granted bool
	// promoting: the server was told to be primary under assigned, whether or not it answered.
	promoting bool
	// inStep: the server was a replica in step since it was told whom to follow. Only such a one can be
	// the target of a hand-over.
	inStep bool
	// handedOver is the epoch of the hand-over that took the role away; 0: none.
	handedOver int64

	server   wire.Server
	observed *Observation
	// answeredAt is when the server last answered; startedAt when its process began.
	answeredAt, startedAt time.Duration

	contacts      contacts
	fence         fence
	fencedAtEpoch int64
	isolated      bool

	stopping, final bool
}

func newMember(id Identity, epochs Epochs) *member {
	return &member{
		id:       id,
		epochs:   epochs,
		spent:    epochs.Primary,
		server:   wire.Server{Phase: wire.ServerWaiting},
		contacts: newContacts(),
		fence:    fenceOff,
	}
}

// admit judges an assignment; nil lets it pass.
func (m *member) admit(a wire.Assignment) *Refusal {
	if r := m.admitOrder(a.Cluster, a.Epoch); r != nil {
		return r
	}
	switch a.Role {
	case wire.RoleHeld:
	case wire.RoleReplica:
		if a.Primary == nil || a.Primary.Host == "" || a.Primary.Port == 0 {
			return invalid("a replica needs a primary to follow")
		}
	case wire.RolePrimary:
		// The epoch under which a server was primary dies with that server: only the manager can know
		// whether another one was promoted since.
		if !m.granted && a.Epoch <= m.spent {
			return m.stale("the server that was primary under this epoch is gone or has handed over")
		}
	default:
		return invalid("unknown role " + string(a.Role))
	}
	return nil
}

// admitHandOver judges an order to hand over; nil lets it pass.
func (m *member) admitHandOver(h wire.HandOver) *Refusal {
	if r := m.admitOrder(h.Cluster, h.Epoch); r != nil {
		return r
	}
	if h.To.Host == "" || h.To.Port == 0 {
		return invalid("a hand-over needs a server to give the role to")
	}
	if h.Epoch <= m.epochs.Primary {
		return m.stale("a hand-over needs a higher epoch than the primary's own")
	}
	// The same order again is harmless: its first answer may have been lost.
	if !m.granted && m.handedOver != h.Epoch {
		return invalid("this member is not primary")
	}
	return nil
}

func (m *member) admitOrder(cluster string, epoch int64) *Refusal {
	if cluster != m.id.Cluster {
		return &Refusal{http.StatusConflict, wire.Error{Code: wire.CodeWrongCluster, Message: "this member belongs to another cluster"}}
	}
	if epoch < m.epochs.Seen {
		return m.stale("a later epoch was seen")
	}
	return nil
}

func (m *member) stale(message string) *Refusal {
	return &Refusal{http.StatusConflict, wire.Error{Code: wire.CodeStaleEpoch, Message: message, Epoch: m.epochs.Seen}}
}

func invalid(message string) *Refusal {
	return &Refusal{http.StatusBadRequest, wire.Error{Code: wire.CodeInvalid, Message: message}}
}

// accept takes an admitted assignment as the newest.
func (m *member) accept(a wire.Assignment, digest string, now time.Duration) {
	m.roleInForce = m.roleInForce && sameRole(m.assigned, &a)
	m.inStep = m.inStep && m.roleInForce
	m.assigned, m.digestOfAssigned = &a, digest
	m.pending, m.retryAt = true, now
	m.handedOver = 0
	m.isolated = false
	m.server.KilledEpoch = 0
	m.seeEpoch(a.Epoch, now)
	if a.Role == wire.RolePrimary {
		m.granted = true
		m.epochs.Primary = a.Epoch
	} else {
		m.loseGrant()
	}
	m.contacts.setPeers(a.Peers)
	m.contacts.assigned = now
	heard := now
	if a.HeardMono > 0 {
		heard = min(now, time.Duration(a.HeardMono))
	}
	m.contacts.managerAt(heard)
	// The manager decided anew, so what came before the fence does not bind it.
	m.fencedAtEpoch = a.Epoch
}

func sameRole(before, after *wire.Assignment) bool {
	if before == nil || before.Role != after.Role {
		return false
	}
	if before.Primary == nil || after.Primary == nil {
		return before.Primary == after.Primary
	}
	return *before.Primary == *after.Primary
}

// seeEpoch raises the highest epoch.
func (m *member) seeEpoch(epoch int64, now time.Duration) {
	if epoch > m.epochs.Seen {
		m.epochs.Seen, m.epochAt = epoch, now
	}
}

// loseGrant spends the epoch under which the member was primary.
func (m *member) loseGrant() {
	m.granted, m.promoting = false, false
	m.spent = m.epochs.Primary
}

// handedOverUnder notes that the server gave its role away under an epoch.
func (m *member) handedOverUnder(epoch int64) {
	m.loseGrant()
	m.roleInForce, m.digest = false, ""
	m.handedOver = epoch
	m.fence = fenceOff
}

// stripped takes every role and every open order from the member: its server is being killed or is dead.
func (m *member) stripped() {
	m.loseGrant()
	m.roleInForce, m.pending, m.inStep = false, false, false
	m.digest, m.handedOver = "", 0
	m.fence = fenceOff
}

// seeSilence turns a server that does not answer into an unresponsive one.
func (m *member) seeSilence(now time.Duration) {
	silent := now - m.answeredAt
	switch m.server.Phase {
	case wire.ServerRunning, wire.ServerUnresponsive:
		if silent >= answerWithin {
			m.server.Phase = wire.ServerUnresponsive
			m.server.UnresponsiveMillis = silent.Milliseconds()
		}
	case wire.ServerStarting:
		// A start takes as long as it takes, unless the server had answered before.
		if m.answeredAt > m.startedAt && silent >= answerWithin {
			m.server.Phase = wire.ServerUnresponsive
			m.server.UnresponsiveMillis = silent.Milliseconds()
		}
	case wire.ServerWaiting, wire.ServerDown:
	}
}

// answered notes an answer of the server; o is nil for an answer that told nothing but that it lives.
func (m *member) answered(now time.Duration, o *Observation) {
	m.answeredAt = now
	m.server.UnresponsiveMillis = 0
	if o != nil {
		m.observed = o
	}
	// Also before the order to follow is known to have been obeyed: the manager may see the link and
	// hand over before that.
	if m.observed != nil && m.observed.Role == wire.RoleReplica && m.observed.Serving {
		m.inStep = true
	}
	m.server.Phase = wire.ServerStarting
	if m.observed != nil && m.observed.Loaded {
		m.server.Phase = wire.ServerRunning
	}
}

// isUsurper says whether the server is primary although its assignment says otherwise. A replica in
// step may be the target of a hand-over, of which the manager has yet to tell; anything else was made
// primary by an old primary that did not know of a later decision.
func (m *member) isUsurper() bool {
	if m.assigned == nil || m.pending || !m.roleInForce || m.observed == nil || m.observed.Role != wire.RolePrimary {
		return false
	}
	return m.assigned.Role == wire.RoleHeld || m.assigned.Role == wire.RoleReplica && !m.inStep
}

// ready says whether the member serves in its role.
func (m *member) ready() bool {
	return m.server.Phase == wire.ServerRunning && m.roleInForce && m.observed != nil && m.observed.Serving &&
		!m.stopping && m.fence == fenceOff
}
