package topology_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

const (
	isolation = 10 * time.Second
	relief    = 20 * time.Second
	heartbeat = 500 * time.Millisecond
	never     = time.Duration(-1)
)

// disk is a member's volume: what outlives its processes.
type disk struct {
	data           []entry
	replID         string
	offset         int64
	written        bool
	note           *facts.Stored
	seen, primary  int64
	lockedBy       *process
	carriesOffsets bool
}

// process is what runs for one pod: an agent and, most of the time, a server.
type process struct {
	ordinal int
	uid     string
	address string
	node    *node
	disk    *disk
	agent   *agent
	server  *server
	ended   bool
}

func (p *process) runs() bool { return !p.ended && p.node.on() && !p.node.frozen }

// assignment is what the model's manager tells an agent.
type assignment struct {
	epoch   int64
	role    topology.Role
	primary string
	peers   []peer
}

type peer struct{ name, address string }

func (a assignment) String() string { return fmt.Sprint(a.epoch, a.role, a.primary, a.peers) }

// agent keeps the rules of docs/designs/failover.md. Its process ends with the pod's.
type agent struct {
	p        *process
	assigned *assignment
	applied  string
	pending  bool
	granted  bool
	seen     int64
	seenAt   time.Duration

	manager  time.Duration
	touched  time.Duration
	peers    map[string]*contact
	highest  int64
	fencedAt int64

	killed     int64
	isolated   bool
	restartAt  time.Duration
	hungSince  time.Duration
	stopping   bool
	stoppingAt time.Duration
	final      bool

	sentAt   time.Duration
	material string
}

type contact struct{ answered, agreed, called time.Duration }

func newAgent(w *world, p *process) *agent {
	return &agent{
		p: p, seen: p.disk.seen, seenAt: w.now, manager: never, touched: never, hungSince: never,
		peers: map[string]*contact{}, sentAt: -heartbeat,
	}
}

// live is one round of the agent's loop: the lease comes before everything.
func (a *agent) live(w *world) {
	if !a.p.runs() || a.final {
		return
	}
	a.checkLease(w)
	a.checkIsolation(w)
	a.callPeers(w)
	a.superviseServer(w)
	a.finishApply(w)
	a.noticeHandedOver()
	a.liftFence(w)
	a.keepNote(w)
	a.stop(w)
	w.push(a)
}

func (a *agent) primaryNow() bool {
	s := a.p.server
	return s != nil && !s.dead && s.isPrimary
}

func (a *agent) leaseHolds(w *world) bool {
	if a.assigned == nil || len(a.assigned.peers) == 0 {
		return true
	}
	if a.manager != never && w.now-a.manager < w.want.Lease {
		return true
	}
	for _, c := range a.peers {
		if c.agreed != never && w.now-c.agreed < w.want.Lease {
			return true
		}
	}
	return false
}

func (a *agent) checkLease(w *world) {
	if !a.primaryNow() || a.p.server.fenced || a.leaseHolds(w) {
		return
	}
	if a.p.server.hung {
		a.kill(w)
		return
	}
	a.p.server.fenced, a.fencedAt = true, a.seen
}

func (a *agent) liftFence(w *world) {
	s := a.p.server
	if s == nil || !s.fenced {
		return
	}
	fresh := a.manager != never && w.now-a.manager < w.want.Lease
	if !s.isPrimary || (fresh && a.seen == a.fencedAt && a.highest <= a.seen) {
		s.fenced = false
	}
}

func (a *agent) checkIsolation(w *world) {
	if a.assigned == nil || len(a.assigned.peers) == 0 || a.isolated || a.p.server == nil {
		return
	}
	last := max(a.touched, a.manager)
	for _, c := range a.peers {
		last = max(last, c.answered)
	}
	if w.now-last >= isolation {
		a.kill(w)
		a.isolated = true
	}
}

func (a *agent) callPeers(w *world) {
	if a.assigned == nil || w.now%(3*tick) != 0 {
		return
	}
	for _, p := range a.assigned.peers {
		other := w.processAt(p.address)
		if other == nil || !other.runs() || other.agent.final || !w.reach(a.p.node, other.node) {
			continue
		}
		// The one that is called looks at its own lease before it answers.
		other.agent.checkLease(w)
		if c := other.agent.peers[w.name(a.p.ordinal)]; c != nil {
			c.called = w.now
		}
		other.agent.highest = max(other.agent.highest, a.seen)
		a.highest = max(a.highest, other.agent.seen)
		c := a.peers[p.name]
		c.answered = w.now
		if other.agent.seen <= a.seen {
			c.agreed = w.now
		}
	}
}

// superviseServer starts a server held, again and again, unless it is to stay down.
func (a *agent) superviseServer(w *world) {
	s := a.p.server
	if s != nil && !s.dead {
		switch {
		case !s.hung:
			a.hungSince = never
		case a.hungSince == never:
			a.hungSince = w.now
		}
		return
	}
	if s != nil {
		a.lostServer(w)
	}
	if a.assigned != nil && a.killed == 0 && !a.isolated && !a.stopping && w.now >= a.restartAt {
		a.startServer(w)
	}
}

func (a *agent) lostServer(w *world) {
	a.p.server = nil
	a.granted, a.pending, a.applied, a.hungSince = false, false, "", never
	a.restartAt = w.now + tick
}

func (a *agent) startServer(w *world) {
	d := a.p.disk
	s := &server{pod: a.p, loading: 2, replID: w.newLineage(), replicas: map[*server]*attachment{}, lastByte: w.now, noted: w.now}
	if d.written {
		s.data = slices.Clone(d.data)
		note := facts.Stored{}
		if d.note != nil {
			note = *d.note
		}
		s.stored = &note
		s.offset = d.offset
		if d.carriesOffsets && d.offset > 0 {
			s.replID, s.backlog = d.replID, true
		}
	}
	a.p.server = s
}

func (a *agent) kill(w *world) {
	if s := a.p.server; s != nil {
		w.end(s)
		a.lostServer(w)
	}
}

// assign is how the manager gives a role; the error is what it would answer.
func (a *agent) assign(w *world, as assignment, heard time.Duration) error {
	a.checkLease(w)
	if as.epoch < a.seen {
		return fmt.Errorf("a later epoch was seen")
	}
	if as.role == topology.Primary && !a.granted && as.epoch <= a.p.disk.primary {
		return fmt.Errorf("this epoch is spent")
	}
	if a.stopping && (a.p.server == nil || as.role == topology.Primary && !a.granted) {
		return fmt.Errorf("stopping")
	}
	if as.epoch > a.seen {
		a.seen, a.seenAt = as.epoch, w.now
	}
	a.assigned, a.pending, a.applied = &as, true, ""
	a.granted = as.role == topology.Primary
	a.isolated, a.killed = false, 0
	a.p.disk.seen = a.seen
	if a.granted {
		a.p.disk.primary = as.epoch
	}
	a.manager, a.touched, a.fencedAt = max(a.manager, heard), w.now, a.seen
	peers := map[string]*contact{}
	for _, p := range as.peers {
		peers[p.name] = a.peers[p.name]
		if peers[p.name] == nil {
			peers[p.name] = &contact{answered: never, agreed: never, called: never}
		}
	}
	a.peers = peers
	a.superviseServer(w)
	a.finishApply(w)
	if s := a.p.server; s != nil && a.granted && !a.pending && a.leaseHolds(w) {
		s.fenced = false
	}
	if a.pending && a.p.server != nil && a.p.server.hung {
		return fmt.Errorf("the server does not answer")
	}
	return nil
}

// finishApply makes a server that answers what was assigned, and puts right one that the engine promoted
// against a later order.
func (a *agent) finishApply(w *world) {
	s := a.p.server
	if !s.answers() || a.assigned == nil || !a.pending {
		return
	}
	switch a.assigned.role {
	case topology.Primary:
		s.failoverTo = ""
		s.promote(w)
	case topology.Held:
		s.follow("")
	case topology.Replica:
		s.follow(a.assigned.primary)
	}
	a.pending, a.applied = false, a.assigned.String()
}

// refusesFailover: a server that was held or repointed in a later epoch takes no role from the engine.
func (a *agent) refusesFailover() bool {
	return a.assigned == nil || a.assigned.role != topology.Replica
}

func (a *agent) handOver(w *world, epoch int64, to string) error {
	s := a.p.server
	if epoch < a.seen || epoch <= a.p.disk.primary || !a.granted || !s.answers() || !s.isPrimary || s.fenced {
		return fmt.Errorf("this member is not primary, or has seen a later epoch")
	}
	if epoch > a.seen {
		a.seen, a.seenAt, a.p.disk.seen = epoch, w.now, epoch
	}
	if !s.mayHandOver(w, to) {
		return fmt.Errorf("the replica is not in step")
	}
	s.isPrimary, s.failoverTo = false, to
	s.handOver(w)
	if s.isPrimary {
		return fmt.Errorf("the replica refused")
	}
	a.noticeHandedOver()
	if s.failoverTo != "" {
		return fmt.Errorf("the hand-over has not ended")
	}
	return nil
}

// noticeHandedOver: the engine gave the role away.
func (a *agent) noticeHandedOver() {
	s := a.p.server
	if a.granted && s.answers() && !s.isPrimary && s.failoverTo == "" && !a.pending {
		a.granted, a.applied = false, ""
	}
}

func (a *agent) obeyKill(w *world, epoch int64) error {
	if epoch < a.seen {
		return fmt.Errorf("a later epoch was seen")
	}
	if epoch > a.seen {
		a.seen, a.seenAt = epoch, w.now
	}
	a.p.disk.seen = a.seen
	a.kill(w)
	a.killed, a.pending = epoch, false
	return nil
}

// keepNote writes beside the data what the data is, at most once a second, and only of a server that has
// taken part in replication since its start.
func (a *agent) keepNote(w *world) {
	s := a.p.server
	if s == nil || !s.answers() || !s.joined || s.syncing > 0 || w.now-s.noted < time.Second {
		return
	}
	a.noteNow(w)
}

func (a *agent) noteNow(w *world) {
	s := a.p.server
	s.noted = w.now
	a.p.disk.note = &facts.Stored{
		Cluster: w.want.Cluster, Epoch: a.seen, WasPrimary: s.isPrimary, ReplID: s.replID, Offset: s.offset, Keys: int64(len(s.data)),
	}
}

// stop ends in order: a primary waits a while to be relieved.
func (a *agent) stop(w *world) {
	if !a.stopping {
		return
	}
	alone := a.assigned == nil || len(a.assigned.peers) == 0
	if a.primaryNow() && !alone && w.now-a.stoppingAt < relief {
		return
	}
	if s := a.p.server; s != nil && !s.dead {
		if s.hung && w.now-a.stoppingAt < relief {
			return
		}
		if s.joined && s.syncing == 0 && !s.hung {
			a.noteNow(w)
		}
		w.end(s)
		// A server that was only held has nothing new to save, and an empty file in place of none would lie.
		if w.persistence == onSnapshots && !s.hung && s.loading == 0 && s.joined && s.syncing == 0 {
			w.snapshot(s)
		}
	}
	a.p.server, a.final = nil, true
}

func (a *agent) observed(w *world) *topology.Agent {
	out := &topology.Agent{
		Epoch: a.seen, EpochAge: w.now - a.seenAt, Phase: a.phase(w), Stopping: a.stopping, Final: a.final, Peers: map[string]topology.Touch{},
	}
	if !a.granted {
		out.SpentEpoch = a.p.disk.primary
	}
	for name, c := range a.peers {
		out.Peers[name] = topology.Touch{Answered: w.since(c.answered), Called: w.since(c.called)}
	}
	s := a.p.server
	if s != nil && !s.dead {
		out.Facts, out.Fenced = s.facts(w), s.fenced
	}
	if out.Phase == topology.Unresponsive {
		out.UnresponsiveFor = w.now - a.hungSince
	}
	return out
}

func (a *agent) phase(w *world) topology.Phase {
	s := a.p.server
	switch {
	case s == nil && a.assigned == nil:
		return topology.Waiting
	case s == nil || s.dead:
		return topology.Down
	case s.hung && a.hungSince != never && w.now-a.hungSince >= time.Second:
		return topology.Unresponsive
	case s.loading > 0:
		return topology.Starting
	}
	return topology.Running
}

// fingerprint changes when something changes that a decision may rest on; offsets and ages do not count.
func (a *agent) fingerprint(o *topology.Agent) string {
	f := o.Facts
	f.Offset, f.LastIOMillis, f.Keys = 0, 0, 0
	hosts := make([]string, 0, len(f.Replicas))
	for _, r := range f.Replicas {
		hosts = append(hosts, r.Host)
	}
	f.Replicas = nil
	stored := ""
	if f.Stored != nil {
		stored = fmt.Sprint(*f.Stored)
		f.Stored = nil
	}
	return fmt.Sprint(o.Phase, o.Epoch, o.SpentEpoch, o.Stopping, o.Final, o.Fenced, a.applied, a.isolated, f, strings.Join(hosts, ","), stored)
}
