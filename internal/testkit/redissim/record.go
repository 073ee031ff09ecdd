package redissim

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// fingerprint holds what a decision may depend on; offsets and ages are no part of it.
type fingerprint struct {
	phase                                      wire.ServerPhase
	starts                                     int
	killed, seen, spent                        int64
	digest, assignmentError                    string
	stopping, final, fenced, isolated, primary bool
	replID, following                          string
	link                                       link
	second                                     int64
	replicas, passwords, errors                string
}

func (a *agent) fingerprint() fingerprint {
	f := fingerprint{
		phase: a.phase, starts: a.starts, killed: a.killedEpoch, seen: a.disk.seen, spent: a.spent(),
		digest: a.digest, assignmentError: a.assignmentError,
		stopping: a.stopping, final: a.final, fenced: a.fenced, isolated: a.isolated,
	}
	if s := a.server; s != nil {
		f.primary, f.replID, f.following, f.link, f.second = s.isPrimary, s.replID, s.following, s.link, s.second
		f.passwords, f.errors = strings.Join(s.passwords, " "), fmt.Sprint(s.configErrors)
		for _, r := range a.replicas() {
			f.replicas += r.ip + string(r.server.link) + " "
		}
	}
	return f
}

// moved says whether anything material changed since it was asked last.
func (a *agent) moved() bool {
	f := a.fingerprint()
	if f == a.print {
		return false
	}
	a.print = f
	a.material++
	return true
}

// spent is the epoch in which this agent refuses to be primary.
func (a *agent) spent() int64 {
	if a.granted {
		return 0
	}
	return a.disk.primary
}

// record is what the agent tells the manager.
func (a *agent) record() *wire.Record {
	a.seq++
	now := a.w.now
	r := &wire.Record{
		Seq: a.seq, Material: a.material, SentMono: now.UnixNano(), AgentVersion: "sim", AgentInstance: a.instance,
		PodUID: string(a.uid), Cluster: a.cluster,
		Epoch: a.disk.seen, EpochMillis: now.Sub(a.epochSince).Milliseconds(), SpentEpoch: a.spent(),
		Server:           wire.Server{Phase: a.phase, Instance: a.starts, LastExit: a.lastExit, KilledEpoch: a.killedEpoch},
		AssignmentDigest: a.digest, AssignmentError: a.assignmentError,
		Stopping: a.stopping, Final: a.final, WritesFenced: a.fenced, Isolated: a.isolated,
		Peers: a.contacts.heard(now),
	}
	if a.server != nil {
		// Facts are plain data, which can always be encoded.
		r.Engine, _ = json.Marshal(a.facts())
	}
	return r
}

func (a *agent) facts() facts.Facts {
	s, now := a.server, a.w.now
	f := facts.Facts{
		Version: s.version, RunID: s.runID, IsPrimary: s.isPrimary, Unjoined: !s.joined && s.link != linkUp,
		ReplID: s.replID, ReplID2: s.replID2, SecondOffset: s.second, Offset: s.offset,
		LinkUp: s.link == linkUp, SyncInProgress: s.link == linkSyncing, LastIOMillis: -1,
		Loading: a.phase == wire.ServerStarting, FailoverState: "no-failover",
		Keys: int64(len(s.log)), SyncFull: s.syncFull, SyncPartialOK: s.syncPartial,
		Stored: s.stored, ConfigErrors: s.configErrors, PasswordsAccepted: s.passwords,
	}
	if s.following != "" {
		f.Following = net.JoinHostPort(s.following, strconv.Itoa(int(naming.RedisPort)))
	}
	switch {
	case s.link == linkUp:
		f.LastIOMillis = 0
	case !s.isPrimary:
		f.LinkDownMillis = now.Sub(s.downAt).Milliseconds()
	}
	for _, r := range a.replicas() {
		f.Replicas = append(f.Replicas, facts.ReplicaLink{Host: r.ip, Online: r.server.link == linkUp, Offset: r.server.offset})
	}
	return f
}
