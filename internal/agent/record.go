package agent

import (
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// journal numbers the records and finds out when something material changed.
type journal struct {
	seq, material uint64
	fingerprint   fingerprint
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

// fingerprint is all that a decision may depend on.
type fingerprint struct {
	server                       wire.Server
	epoch, spent                 int64
	digest, err, silent, engine  string
	stopping, final, fenced, cut bool
}

// noteChange counts a change of anything that a decision may depend on.
func (j *journal) noteChange(m *member, now time.Duration) bool {
	f := fingerprint{
		server: m.server, epoch: m.epochs.Seen, spent: m.spent,
		digest: m.digest, err: m.assignmentError, silent: strings.Join(m.silentPeers(now), " "),
		stopping: m.stopping, final: m.final, fenced: m.fence == fenceOn, cut: m.isolated,
	}
	f.server.UnresponsiveMillis = 0
	if m.observed != nil {
		f.engine = m.observed.Material
	}
	if f == j.fingerprint {
		return false
	}
	j.fingerprint = f
	j.material++
	return true
}
