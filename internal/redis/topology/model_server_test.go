package topology_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
)

// The model is a replica set in small: servers with data and offsets, agents that keep the rules of their
// contract, a manager that observes, decides and executes, and faults between any two of their steps.
// Time is a number. This file has the engine; it knows nothing of agents, epochs or decisions.

// tick is how far time goes in one step.
const tick = 100 * time.Millisecond

const (
	// linkTimeout after which an engine gives up a replication link that it hears nothing on.
	linkTimeout = 2 * time.Second
	// goodLag is min-replicas-max-lag.
	goodLag = 3 * time.Second
)

// entry is one write in a server's data.
type entry struct {
	id     int
	offset int64
	// at is when this server took it over.
	at time.Duration
}

// server is one process of the engine.
type server struct {
	pod     *process
	dead    bool
	hung    bool
	loading int
	fenced  bool

	isPrimary      bool
	replID, before string
	second         int64
	offset         int64
	backlog        bool
	data           []entry
	stored         *facts.Stored
	following      string
	linkUp         bool
	syncing        int
	lastByte       time.Duration
	failoverTo     string
	replicas       map[*server]*attachment
	// term counts the times that it was demoted: no client waits for a confirmation beyond one.
	term int
	// joined: it took part in replication since its start, so its note may be renewed.
	joined bool
	noted  time.Duration
}

// attachment is a replica as its primary sees it.
type attachment struct {
	offset int64
	heard  time.Duration
}

// answers says whether the process works off commands.
func (s *server) answers() bool {
	return s != nil && !s.dead && !s.hung && s.loading == 0 && s.pod.runs()
}

// acceptsWrites by its own rules: min-replicas-to-write is 1 where there is more than one member.
func (s *server) acceptsWrites(w *world) bool {
	if !s.answers() || !s.isPrimary || s.fenced || s.failoverTo != "" {
		return false
	}
	if w.want.Replicas < 2 {
		return true
	}
	for _, a := range s.replicas {
		if w.now-a.heard <= goodLag {
			return true
		}
	}
	return false
}

// confirms says whether a write could be confirmed now: a replica is attached and can say so.
func (s *server) confirms(w *world) bool {
	if !s.acceptsWrites(w) {
		return false
	}
	for r := range s.replicas {
		if r.answers() && r.linkUp && r.following == s.pod.address && w.reach(r.pod.node, s.pod.node) {
			return true
		}
	}
	return false
}

func (s *server) write(w *world, id int) {
	if s.backlog {
		s.offset += 10
	}
	s.data = append(s.data, entry{id: id, offset: s.offset, at: w.now})
	w.writes[id] = &write{by: s, term: s.term, offset: s.offset, holders: map[*server]bool{}}
}

func (s *server) holds(id int) bool {
	return slices.ContainsFunc(s.data, func(e entry) bool { return e.id == id })
}

func (s *server) promote(w *world) {
	if s.isPrimary {
		return
	}
	s.before, s.second = s.replID, s.offset+1
	s.replID = w.newLineage()
	s.isPrimary, s.following, s.linkUp, s.syncing, s.joined = true, "", false, 0, true
}

// follow an address; nowhere holds the server.
func (s *server) follow(address string) {
	s.failoverTo = ""
	if !s.isPrimary && s.following == address {
		return
	}
	s.dropReplicas()
	s.term++
	s.isPrimary, s.following, s.linkUp, s.syncing = false, address, false, 0
}

func (s *server) dropReplicas() {
	for r := range s.replicas {
		r.linkUp = false
	}
	clear(s.replicas)
}

// replicate lets a replica do one step: say how far it is, then take over what its primary has.
func (s *server) replicate(w *world) {
	if !s.answers() || s.isPrimary || s.following == "" || s.failoverTo != "" {
		return
	}
	p := w.serverAt(s.following)
	if !p.answers() || !w.reach(s.pod.node, p.pod.node) {
		s.noticeSilence(w)
		return
	}
	if !p.isPrimary && !p.linkUp {
		return
	}
	if !s.linkUp {
		s.attach(w, p)
		return
	}
	s.confirm(w, p)
	s.take(w, p)
	s.lastByte = w.now
}

// noticeSilence gives up a link: at once when the other process is gone and its machine says so.
func (s *server) noticeSilence(w *world) {
	other := w.processAt(s.following)
	refused := other != nil && w.reach(s.pod.node, other.node) && (other.server == nil || other.server.dead)
	if s.linkUp && (refused || w.now-s.lastByte > linkTimeout) {
		s.linkUp = false
	}
	s.syncing = 0
}

// attach resumes from the backlog where lineage and offset allow it, and else copies everything.
func (s *server) attach(w *world, p *server) {
	if !p.backlog {
		p.backlog = true
		p.replID, p.before, p.second = w.newLineage(), "", 0
		p.offset++
	}
	same := s.replID == p.replID || (s.replID == p.before && s.offset < p.second)
	if s.backlog && same && s.offset <= p.offset {
		if s.replID != p.replID {
			s.before, s.second, s.replID = s.replID, s.offset+1, p.replID
		}
		s.attached(w, p)
		return
	}
	if s.syncing == 0 {
		s.syncing = 3
		return
	}
	s.syncing--
	if s.syncing > 0 {
		return
	}
	s.data, s.offset = slices.Clone(p.data), p.offset
	s.replID, s.before, s.second, s.backlog = p.replID, "", 0, true
	s.attached(w, p)
}

func (s *server) attached(w *world, p *server) {
	s.linkUp, s.syncing, s.joined, s.lastByte = true, 0, true, w.now
	p.replicas[s] = &attachment{offset: s.offset, heard: w.now}
}

// confirm tells the primary how far the replica is; that is what WAIT counts.
func (s *server) confirm(w *world, p *server) {
	a := p.replicas[s]
	if a == nil {
		s.linkUp = false
		return
	}
	a.offset, a.heard = s.offset, w.now
	w.confirmed(p, s)
}

// take copies the next part of the stream.
func (s *server) take(w *world, p *server) {
	for _, e := range p.data[min(len(s.data), len(p.data)):] {
		s.data = append(s.data, entry{id: e.id, offset: e.offset, at: w.now})
	}
	s.offset = p.offset
}

// tend is what a server does by its own clock.
func (s *server) tend(w *world) {
	if s.dead || !s.pod.runs() || s.hung {
		return
	}
	if s.loading > 0 {
		s.loading--
		return
	}
	for r, a := range s.replicas {
		gone := r.dead && w.reach(s.pod.node, r.pod.node) && r.pod.node.on()
		moved := r.following != s.pod.address || (r.answers() && !r.linkUp)
		if gone || (moved && w.reach(s.pod.node, r.pod.node)) || w.now-a.heard > linkTimeout {
			delete(s.replicas, r)
		}
	}
	if s.isPrimary && len(s.replicas) > 0 && w.now%time.Second == 0 {
		s.offset++
	}
	s.handOver(w)
}

// handOver is the engine's part of FAILOVER after it has demoted itself: it asks until it is answered.
func (s *server) handOver(w *world) {
	to := w.serverAt(s.failoverTo)
	if s.failoverTo == "" || to == nil || !to.answers() || !w.reach(s.pod.node, to.pod.node) {
		return
	}
	if to.isPrimary || to.replID != s.replID || to.offset != s.offset || to.pod.agent.refusesFailover() {
		// Refused: it goes on as primary.
		s.failoverTo, s.following, s.isPrimary = "", "", true
		return
	}
	to.promote(w)
	if w.loses("answer to the hand-over") {
		return
	}
	s.failoverTo = ""
	s.following = to.pod.address
}

// mayHandOver says whether the replica at that address has everything.
func (s *server) mayHandOver(w *world, address string) bool {
	to := w.serverAt(address)
	if to == nil || !to.answers() || !to.linkUp || to.following != s.pod.address || !w.reach(s.pod.node, to.pod.node) {
		return false
	}
	to.confirm(w, s)
	to.take(w, s)
	return true
}

func (s *server) facts(w *world) facts.Facts {
	f := facts.Facts{
		RunID: fmt.Sprintf("%p", s), IsPrimary: s.isPrimary, ReplID: s.replID, ReplID2: s.before, SecondOffset: s.second,
		Offset: s.offset, Following: s.following, LinkUp: s.linkUp, SyncInProgress: s.syncing > 0, Loading: s.loading > 0,
		LastIOMillis: -1, FailoverState: "no-failover", Keys: int64(len(s.data)), Stored: s.stored, Unjoined: !s.joined,
	}
	if s.failoverTo != "" {
		f.FailoverState, f.Following = "failover-in-progress", s.failoverTo
	}
	if s.linkUp {
		f.LastIOMillis = (w.now - s.lastByte).Milliseconds()
	}
	for r, a := range s.replicas {
		f.Replicas = append(f.Replicas, facts.ReplicaLink{
			Host: r.pod.address, Online: true, Offset: a.offset, LagSeconds: int64((w.now - a.heard) / time.Second),
		})
	}
	slices.SortFunc(f.Replicas, func(a, b facts.ReplicaLink) int { return strings.Compare(a.Host, b.Host) })
	return f
}
