package agent

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// journal numbers the records and finds out when something material changed.
type journal struct {
	seq, material uint64
	fingerprint   string
}

// write makes a record of the member at this moment.
func (j *journal) write(m *member, now time.Duration) wire.Record {
	j.noteChange(m, now)
	j.seq++
	r := wire.Record{
		Seq:              j.seq,
		Material:         j.material,
		SentMono:         int64(now),
		AgentVersion:     m.id.Version,
		AgentInstance:    m.id.Instance,
		PodUID:           m.id.PodUID,
		Cluster:          m.id.Cluster,
		Epoch:            m.epochs.Seen,
		EpochMillis:      (now - m.epochAt).Milliseconds(),
		SpentEpoch:       m.spent,
		Server:           m.server,
		AssignmentDigest: m.digest,
		AssignmentError:  m.assignmentError,
		Stopping:         m.stopping,
		Final:            m.final,
		WritesFenced:     m.fence == fenceOn,
		Isolated:         m.isolated,
		Peers:            m.contacts.heard(now),
	}
	if m.observed != nil {
		r.Engine = m.observed.Facts
	}
	return r
}

// noteChange counts a change of anything that a decision may depend on.
func (j *journal) noteChange(m *member, now time.Duration) bool {
	server := m.server
	server.UnresponsiveMillis = 0
	engine := ""
	if m.observed != nil {
		engine = m.observed.Material
	}
	f := fmt.Sprint(server, m.epochs.Seen, m.spent, m.digest, m.assignmentError, m.stopping, m.final, m.fence == fenceOn, m.isolated, m.silentPeers(now), engine)
	if f == j.fingerprint {
		return false
	}
	j.fingerprint = f
	j.material++
	return true
}
