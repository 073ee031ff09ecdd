package topology_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

// manager is what one run of the operator knows. All of it is lost when it dies.
type manager struct {
	since    time.Duration
	contacts map[string]*heard
	detached map[string]int64

	awake    bool
	wakeAt   time.Duration
	state    topology.State
	decision topology.Decision
	plan     []topology.Step
	turns    int
	failures map[int64]int
	paused   time.Duration
}

// heard is what it has of one agent.
type heard struct {
	p         *process
	name      string
	connected bool
	record    *topology.Agent
	applied   string
	sent      time.Duration
	at        time.Duration
	alarmed   bool
}

func newManager(w *world) *manager {
	return &manager{
		since: w.now, contacts: map[string]*heard{}, detached: map[string]int64{}, awake: true, wakeAt: never,
		failures: map[int64]int{}, paused: never,
	}
}

// push is a record on its way to the manager, and the echo back.
func (w *world) push(a *agent) {
	m := w.manager
	if m == nil || !w.reach(w.hub, a.p.node) {
		return
	}
	c := m.contacts[a.p.uid]
	if c == nil || c.p != a.p {
		return
	}
	o := a.observed(w)
	print := a.fingerprint(o)
	if c.connected && print == a.material && w.now-a.sentAt < heartbeat {
		return
	}
	if !c.connected || print != a.material {
		m.awake = true
	}
	a.material, a.sentAt = print, w.now
	c.connected, c.record, c.applied, c.sent, c.at, c.alarmed = true, o, a.applied, w.now, w.now, false
	if o.Epoch >= w.knownEpoch() {
		// A record of an epoch that is over is not echoed: it would prolong the lease of a primary that
		// has a successor.
		a.manager = w.now
	}
}

func (w *world) knownEpoch() int64 {
	e := w.intent.Epoch
	if t := w.intent.Transition; t != nil {
		e = max(e, t.Epoch)
	}
	return e
}

// watch is what the manager notices by itself: pods, broken streams, silence, its own alarm.
func (m *manager) watch(w *world) {
	for i, pod := range w.pods {
		switch {
		case pod == nil || pod.proc == nil:
		case m.contacts[pod.uid] == nil:
			m.contacts[pod.uid] = &heard{p: pod.proc, name: w.name(i), at: w.now}
		case m.contacts[pod.uid].p != pod.proc:
			// The container was restarted; the stream to the one before broke.
			m.contacts[pod.uid].p, m.contacts[pod.uid].connected, m.awake = pod.proc, false, true
		}
	}
	for uid, c := range m.contacts {
		ended := c.p.ended || c.p.agent.final
		if c.connected && ((ended && w.reach(w.hub, c.p.node)) || w.now-c.at >= w.streamTimeout) {
			c.connected, m.awake = false, true
		}
		if !c.alarmed && w.now-c.at >= w.want.Detection {
			c.alarmed, m.awake = true, true
		}
		if w.podOf(uid) == nil && w.now-c.at > 15*time.Minute {
			delete(m.contacts, uid)
		}
	}
	if m.wakeAt != never && w.now >= m.wakeAt {
		m.awake = true
	}
}

// step does one thing: take up the next step of the plan, or make a plan. It says whether there was
// anything to do.
func (m *manager) step(w *world) bool {
	if len(m.plan) > 0 {
		next := m.plan[0]
		m.plan = m.plan[1:]
		acted, err := m.execute(w, next)
		w.note("manager: %s: %v", redisstate.Step(next), err)
		switch {
		case err != nil:
			m.plan, m.turns = nil, 0
			m.wakeIn(w, 2*tick)
		case acted && m.turns >= 10:
			// Other clusters shall have their turn, too.
			m.wakeIn(w, tick)
		case acted:
			m.awake = true
		}
		return true
	}
	if !m.awake {
		m.turns = 0
		return false
	}
	m.awake, m.wakeAt = false, never
	m.turns++
	m.state = w.observe(m)
	before := redisstate.Clone(m.state)
	m.decision = topology.Decide(m.state)
	w.lastDecision = m.decision
	mustBeLawful(w.t, before, m.decision)
	m.plan = m.decision.Steps
	if w.setReplicas != m.decision.SetReplicas {
		w.setReplicas, m.awake = m.decision.SetReplicas, true
	}
	if m.decision.WakeAfter > 0 {
		m.wakeIn(w, m.decision.WakeAfter)
	}
	return true
}

func (m *manager) wakeIn(w *world, d time.Duration) {
	if at := w.now + d; m.wakeAt == never || at < m.wakeAt {
		m.wakeAt = at
	}
}

func (m *manager) execute(w *world, step topology.Step) (bool, error) {
	switch {
	case step.Store != nil:
		w.store(*step.Store)
	case step.Route != nil:
		w.routed = step.Route.UID
	case step.Kill != nil:
		return true, m.order(w, step.Kill.UID, func(a *agent) error { return a.obeyKill(w, step.Kill.Epoch) })
	case step.HandOver != nil:
		return true, m.handOver(w, *step.HandOver)
	case step.DeletePod != nil:
		w.deletePod(step.DeletePod.UID)
	case step.Assign != nil:
		return m.assign(w, *step.Assign)
	case step.Announce != nil:
		if step.Announce.Occasion == topology.HandOverGivenUp {
			m.paused = w.now + 5*time.Second
		}
		return false, nil
	}
	return true, nil
}

// order reaches an agent or fails; a frozen one never answers.
func (m *manager) order(w *world, uid string, give func(a *agent) error) error {
	c := m.contacts[uid]
	if c == nil || !c.p.runs() || c.p.agent.final || !w.reach(w.hub, c.p.node) {
		return fmt.Errorf("%s is out of reach", uid)
	}
	if err := give(c.p.agent); err != nil {
		return err
	}
	w.push(c.p.agent)
	return nil
}

func (m *manager) handOver(w *world, move topology.Move) error {
	from, to := m.member(move.From), m.member(move.To)
	err := m.order(w, from.Pod.UID, func(a *agent) error { return a.handOver(w, move.Epoch, to.Pod.Address) })
	if err != nil {
		m.failures[move.Epoch]++
	}
	return err
}

func (m *manager) member(name string) topology.Member {
	i := slices.IndexFunc(m.state.Members, func(t topology.Member) bool { return t.Name == name })
	return m.state.Members[i]
}

// assign tells everybody, whoever fails, and fails if one did.
func (m *manager) assign(w *world, a topology.Assign) (bool, error) {
	var acted bool
	var failed error
	for _, name := range slices.Sorted(maps.Keys(a.Roles)) {
		target := m.member(name)
		as := assignment{epoch: a.Epoch, role: a.Roles[name]}
		if as.role == topology.Replica {
			as.primary = m.member(a.Primary).Pod.Address
		}
		for _, other := range m.state.Members {
			if other.Name != name && other.Pod.Exists && other.Pod.Address != "" {
				as.peers = append(as.peers, peer{other.Name, other.Pod.Address})
			}
		}
		c := m.contacts[target.Pod.UID]
		if c != nil && c.applied == as.String() && !c.record.Fenced {
			continue
		}
		acted = true
		heard := never
		if c != nil {
			heard = c.sent
		}
		if err := m.order(w, target.Pod.UID, func(ag *agent) error { return ag.assign(w, as, heard) }); err != nil {
			failed = fmt.Errorf("%s: %w", name, err)
		}
	}
	return acted, failed
}

// observe makes the snapshot, with ages as the observer's contract has them.
func (w *world) observe(m *manager) topology.State {
	s := topology.State{
		Want: w.want, Intent: w.intent, RoutedUID: w.routed, SetReplicas: w.setReplicas, WatchedFor: w.now - m.since,
		HandOverPause: max(0, m.paused-w.now),
	}
	s.Intent.SyncSet = slices.Clone(w.intent.SyncSet)
	if t := w.intent.Transition; t != nil {
		s.HandOverFailures = m.failures[t.Epoch]
	}
	for i := range w.pods {
		if member, ok := w.observeMember(m, i); ok {
			s.Members = append(s.Members, member)
		}
	}
	for uid, c := range m.contacts {
		if w.podOf(uid) != nil {
			continue
		}
		dead := c.record != nil && (c.record.Final || (c.record.Phase == topology.Down && c.p.agent.killed > 0))
		s.Ghosts = append(s.Ghosts, topology.Ghost{Name: c.name, UID: uid, Connected: c.connected, Silent: w.now - c.at, Dead: dead})
	}
	slices.SortFunc(s.Ghosts, func(a, b topology.Ghost) int { return compareText(a.UID, b.UID) })
	m.noteDetached(&s)
	return s
}

func (w *world) observeMember(m *manager, i int) (topology.Member, bool) {
	pod := w.pods[i]
	expected := i < max(w.setReplicas, w.want.Replicas) || slices.Contains(w.intent.SyncSet, w.name(i))
	out := topology.Member{Name: w.name(i), Ordinal: i, DetachedAt: -1}
	if pod == nil {
		return out, expected
	}
	out.Pod = topology.Pod{Exists: true, UID: pod.uid, Address: pod.address, Terminating: pod.terminating}
	if pod.generation != w.generation {
		out.Pod.Outdated = append(out.Pod.Outdated, "the spec changed")
	}
	c := m.contacts[pod.uid]
	if c == nil {
		out.Link = topology.Link{Silent: w.now - m.since}
		return out, true
	}
	silent := w.now - c.at
	out.Link = topology.Link{Connected: c.connected, Silent: silent}
	if c.record != nil {
		record := *c.record
		record.EpochAge += silent
		record.Peers = map[string]topology.Touch{}
		for name, touch := range c.record.Peers {
			if touch.Answered >= 0 {
				touch.Answered += silent
			}
			record.Peers[name] = touch
		}
		out.Agent = &record
	}
	return out, true
}

func (m *manager) noteDetached(s *topology.State) {
	p := s.ServingPrimary()
	if p == nil {
		clear(m.detached)
		return
	}
	for i := range s.Members {
		member := &s.Members[i]
		if member.Name == p.Name || topology.Attached(p, member.Pod.Address) {
			delete(m.detached, member.Name)
			continue
		}
		if _, noted := m.detached[member.Name]; !noted {
			m.detached[member.Name] = p.Agent.Facts.Offset
		}
		member.DetachedAt = m.detached[member.Name]
	}
}
