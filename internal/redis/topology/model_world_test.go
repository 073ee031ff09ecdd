package topology_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

// persistence is what outlives a server's process.
type persistence int

const (
	// onLog: an append-only file has every write, and not its offset.
	onLog persistence = iota
	// onSnapshots: now and then everything is written, with its offset.
	onSnapshots
	// inMemory: nothing; the pods have no volumes.
	inMemory
)

// world is the whole model. Its clock moves only in tick.
type world struct {
	t   *rapid.T
	now time.Duration

	want        topology.Want
	persistence persistence
	generation  int
	// streamTimeout after which a stream that carries nothing counts as broken.
	streamTimeout time.Duration

	intent      topology.Intent
	backup      topology.Intent
	routed      string
	setReplicas int
	pods        []*pod

	hub     *node
	nodes   []*node
	procs   []*process
	disks   []*disk
	cuts    map[[2]*node]bool
	manager *manager
	// zombie has the rest of the plan of a manager that was succeeded while it was frozen.
	zombie *manager

	writes       map[int]*write
	lastWrite    int
	lineages     int
	uids         int
	trace        []string
	lastDecision topology.Decision
	// lossy power cuts take the last second of an append-only file with them.
	lossy bool
	// statusLost: the API server lost what was stored, so that old data may be held against new.
	statusLost bool
	// strict: at most one fault at a time, so that nothing confirmed may be lost at all.
	strict bool
	fickle bool
}

// pod is the API's object.
type pod struct {
	uid, address string
	terminating  bool
	generation   int
	proc         *process
}

// node is a machine.
type node struct {
	name   string
	down   bool
	frozen bool
	slow   bool
}

func (n *node) on() bool { return !n.down }

// write is what a client asked for.
type write struct {
	by        *server
	term      int
	offset    int64
	confirmed bool
	// holders are the replicas that said they have it.
	holders map[*server]bool
}

func newWorld(t *rapid.T, n int, p persistence) *world {
	w := &world{
		t: t, persistence: p, hub: &node{name: "hub"}, cuts: map[[2]*node]bool{}, writes: map[int]*write{},
		want:          topology.Want{Cluster: redisstate.Cluster, Replicas: n, Detection: redisstate.Detection, Lease: redisstate.Lease, Ephemeral: p == inMemory},
		streamTimeout: 2 * time.Second,
	}
	for i := range 6 {
		w.nodes = append(w.nodes, &node{name: fmt.Sprintf("node-%d", i)})
		w.disks = append(w.disks, &disk{carriesOffsets: p == onSnapshots})
		w.pods = append(w.pods, nil)
	}
	w.manager = newManager(w)
	w.setReplicas = n
	return w
}

func (w *world) name(i int) string { return redisstate.Name(i) }

func (w *world) newLineage() string {
	w.lineages++
	return fmt.Sprintf("lineage-%d", w.lineages)
}

func (w *world) since(t time.Duration) time.Duration {
	if t == never {
		return never
	}
	return w.now - t
}

func compareText(a, b string) int { return strings.Compare(a, b) }

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%6s ", w.now)+fmt.Sprintf(format, args...))
}

// loses decides by chance whether a message is lost, where the test wants chance.
func (w *world) loses(what string) bool {
	if !w.fickle {
		return false
	}
	lost := rapid.IntRange(0, 3).Draw(w.t, what) == 0
	if lost {
		w.note("lost: %s", what)
	}
	return lost
}

func (w *world) reach(a, b *node) bool {
	if a.down || b.down || a.frozen || b.frozen {
		return false
	}
	return a == b || (!w.cuts[[2]*node{a, b}] && !w.cuts[[2]*node{b, a}])
}

func (w *world) processAt(address string) *process {
	i := slices.IndexFunc(w.procs, func(p *process) bool { return p.address == address && !p.ended })
	if address == "" || i < 0 {
		return nil
	}
	return w.procs[i]
}

func (w *world) serverAt(address string) *server {
	if p := w.processAt(address); p != nil {
		return p.server
	}
	return nil
}

func (w *world) podOf(uid string) *pod {
	for _, p := range w.pods {
		if p != nil && p.uid == uid {
			return p
		}
	}
	return nil
}

// servers that have not died.
func (w *world) servers() []*server {
	var out []*server
	for _, p := range w.procs {
		if !p.ended && p.server != nil && !p.server.dead {
			out = append(out, p.server)
		}
	}
	return out
}

// end kills a server process; what it wrote to disk stays.
func (w *world) end(s *server) {
	if s.dead {
		return
	}
	s.dead = true
	if w.persistence == onLog {
		// The file of a replica brings back its offset, though not whose history it counts.
		s.pod.disk.data, s.pod.disk.written, s.pod.disk.offset = slices.Clone(s.data), true, 0
		if !s.isPrimary && s.joined {
			s.pod.disk.offset = s.offset
		}
	}
}

// snapshot writes everything to disk, with the offset.
func (w *world) snapshot(s *server) {
	if w.persistence != onSnapshots {
		return
	}
	d := s.pod.disk
	d.data, d.replID, d.offset, d.written = slices.Clone(s.data), s.replID, s.offset, true
}

// endProcess ends an agent with its server: its container or machine is gone.
func (w *world) endProcess(p *process) {
	if p.server != nil {
		w.end(p.server)
	}
	p.ended = true
	if p.disk.lockedBy == p {
		p.disk.lockedBy = nil
	}
}

// tick lets time pass and everybody act once.
func (w *world) tick() {
	w.now += tick
	w.kubernetes()
	for _, p := range slices.Clone(w.procs) {
		if !p.ended {
			p.agent.live(w)
		}
	}
	w.stream()
	w.check()
	if w.manager != nil {
		w.manager.watch(w)
		for range 60 {
			if !w.manager.step(w) {
				break
			}
			w.check()
		}
	}
	w.check()
}

// stream lets the engines do their part of replication.
func (w *world) stream() {
	for _, s := range w.servers() {
		s.tend(w)
	}
	for _, s := range w.servers() {
		if !s.pod.node.slow {
			s.replicate(w)
		}
	}
}

// kubernetes makes pods for the StatefulSet, runs them, and ends those that are to end.
func (w *world) kubernetes() {
	for i := range w.pods {
		p := w.pods[i]
		if p == nil && i < w.setReplicas {
			w.uids++
			w.pods[i] = &pod{uid: fmt.Sprintf("uid-%d-%d", i, w.uids), address: fmt.Sprintf("10.0.%d.%d", i, w.uids), generation: w.generation}
			w.wakeManager()
			continue
		}
		if p != nil && i >= w.setReplicas {
			w.deletePod(p.uid)
		}
		if p != nil {
			w.kubelet(i, p)
		}
	}
	for _, p := range w.procs {
		if !p.ended && w.podOf(p.uid) == nil && p.runs() && w.reach(w.hub, p.node) {
			// The pod is gone from the API, and its machine hears of it.
			w.endProcess(p)
		}
	}
}

func (w *world) kubelet(i int, p *pod) {
	n := w.nodes[i]
	if !n.on() || n.frozen || !w.reach(w.hub, n) {
		return
	}
	switch {
	case p.proc == nil || p.proc.ended:
		if p.terminating {
			w.pods[i] = nil
			w.wakeManager()
			return
		}
		w.run(i, p)
	case p.terminating && p.proc.agent.final:
		w.endProcess(p.proc)
		w.pods[i] = nil
		w.wakeManager()
	case p.terminating && !p.proc.agent.stopping:
		p.proc.agent.stopping, p.proc.agent.stoppingAt = true, w.now
	}
}

// run starts a process for a pod. A volume has one user at a time; without volumes each pod begins with
// nothing.
func (w *world) run(i int, p *pod) {
	d := w.disks[i]
	if w.persistence == inMemory && p.proc == nil {
		d = &disk{}
		w.disks[i] = d
	}
	if d.lockedBy != nil {
		return
	}
	proc := &process{ordinal: i, uid: p.uid, address: p.address, node: w.nodes[i], disk: d}
	proc.agent = newAgent(w, proc)
	d.lockedBy = proc
	w.procs = append(w.procs, proc)
	p.proc = proc
	w.wakeManager()
}

func (w *world) wakeManager() {
	if w.manager != nil {
		w.manager.awake = true
	}
}

func (w *world) deletePod(uid string) {
	if p := w.podOf(uid); p != nil && !p.terminating {
		p.terminating = true
		w.wakeManager()
	}
}

// forceDelete takes the object away; whoever runs does not notice until its machine hears of it.
func (w *world) forceDelete(i int) {
	if w.pods[i] != nil {
		w.pods[i] = nil
		w.wakeManager()
	}
}

// confirmed: a replica told its primary how far it is. A client that waits on that primary has its answer.
func (w *world) confirmed(p, replica *server) {
	for _, x := range w.writes {
		if x.by != p || x.term != p.term || x.offset > replica.offset {
			continue
		}
		x.holders[replica] = true
		if p.isPrimary && p.answers() {
			x.confirmed = true
		}
	}
}
