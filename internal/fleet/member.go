package fleet

import (
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// memberState is what the fleet holds of one member; guarded by Fleet.mu.
type memberState struct {
	Member
	// link dials and serves; nil while the member has no address or the fleet does not run.
	link *link
	// conn is the open connection, set from the first verified record of its stream on.
	conn *http.ClientConn

	since     time.Time
	heardAt   time.Time
	openedAt  time.Time
	aliveAt   time.Time
	record    *wire.Record
	streamErr string
	gone      bool
	// silent: the silence was reported; the next sign of life takes it back.
	silent bool
}

func (m *memberState) contact(stallOver time.Time) Contact {
	return Contact{
		Member:      m.Member,
		Connected:   m.conn != nil,
		Gone:        m.gone,
		Record:      m.record,
		HeardAt:     m.heardAt,
		OpenedAt:    m.openedAt,
		SilentSince: m.silentSince(stallOver),
		StreamErr:   m.streamErr,
	}
}

func (m *memberState) silentSince(stallOver time.Time) time.Time {
	since := m.since
	if !m.heardAt.IsZero() {
		since = m.heardAt
	}
	if stallOver.After(since) {
		return stallOver
	}
	return since
}

// open notes that l's stream delivered its first record.
func (m *memberState) open(l *link, now time.Time) {
	m.conn = l.conn
	m.openedAt = now
	m.streamErr = ""
}

// observe takes in a record and says whether a decision may depend on what it brings.
func (m *memberState) observe(r *wire.Record, now time.Time) bool {
	changed := m.silent
	m.heardAt = now
	m.silent = false
	last := m.record
	sameProcess := last != nil && last.AgentInstance == r.AgentInstance
	if sameProcess && r.Seq <= last.Seq {
		// Answers and the stream overtake each other; the newer record is there already.
		return changed
	}
	m.record = r
	if !sameProcess {
		return true
	}
	return changed || r.Material != last.Material || r.Stopping != last.Stopping || r.Final != last.Final
}

// closed notes that there is no stream any more.
func (m *memberState) closed(cause string, now time.Time) {
	if m.conn != nil {
		m.aliveAt = now
	}
	m.conn = nil
	m.streamErr = cause
}

// disconnect ends the link for good. What the link still reports is ignored from now on.
func (m *memberState) disconnect(cause string) {
	if m.link == nil {
		return
	}
	m.closed(cause, m.link.clock.Now())
	m.link.cancel()
	m.link = nil
}

// past: a ghost that is not in touch and was not for long.
func (m *memberState) past(now time.Time) bool {
	if !m.gone || m.conn != nil {
		return false
	}
	return m.aliveAt.IsZero() || now.Sub(m.aliveAt) >= GhostRetention
}
