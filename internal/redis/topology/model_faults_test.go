package topology_test

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

// act does one thing to the world.
func (w *world) act(action string) {
	w.note("%s", action)
	if does, ok := w.actions()[action]; ok {
		does()
	} else {
		w.t.Fatalf("no such action: %s", action)
	}
	w.check()
}

func (w *world) actions() map[string]func() {
	return map[string]func(){
		"tick":          w.tick,
		"second":        func() { w.ticks(10) },
		"three seconds": func() { w.ticks(31) },
		"write":         w.writeSomewhere,
		"replicate":     func() { w.withServer(func(s *server) { s.replicate(w) }) },
		"agent":         func() { w.withServer(func(s *server) { s.pod.agent.live(w) }) },
		"manager step":  w.managerStep,
		"stale order":   w.staleOrder,

		"kill server":    func() { w.withServer(w.end) },
		"kill primary":   func() { w.withPrimary(w.end) },
		"kill container": func() { w.withServer(func(s *server) { w.endProcess(s.pod) }) },
		"power cut":      func() { w.cutPower(w.anyNode()) },
		"lose power":     func() { w.cutPower(w.primaryNode()) },
		"power on":       func() { w.anyNode().down = false },
		"freeze":         func() { w.anyNode().frozen = true },
		"thaw":           w.thaw,
		"hang server":    func() { w.withServer(func(s *server) { s.hung = true }) },
		"resume server":  func() { w.withServer(func(s *server) { s.hung = false }) },
		"slow":           func() { w.anyNode().slow = true },
		"fast":           func() { w.anyNode().slow = false },
		"snapshot":       func() { w.withServer(func(s *server) { w.snapshotIfAble(s) }) },

		"cut":              func() { w.cut(w.anyNode(), w.anyNode()) },
		"cut from hub":     func() { w.cut(w.anyNode(), w.hub) },
		"cut from members": func() { w.isolate(w.anyNode()) },
		"isolate":          func() { w.isolate(w.anyNode(), w.hub) },
		"heal":             func() { delete(w.cuts, [2]*node{w.anyNode(), w.anyNode()}) },
		"heal all":         func() { clear(w.cuts) },

		"kill manager":   func() { w.manager = nil },
		"freeze manager": func() { w.zombie, w.manager = w.manager, newManager(w) },
		"manager back":   w.managerBack,

		"delete pod":           func() { w.withPod(func(i int) { w.deletePod(w.pods[i].uid) }) },
		"delete primary":       func() { w.deletePod(w.intent.PrimaryUID) },
		"delete all":           func() { w.eachPod(func(i int) { w.deletePod(w.pods[i].uid) }) },
		"force delete":         func() { w.withPod(w.forceDelete) },
		"force delete primary": func() { w.eachPod(func(i int) { w.forceDeleteIf(i, w.intent.PrimaryUID) }) },
		"lose status":          w.loseStatus,
		"set status back":      w.setStatusBack,
		"back status up":       func() { w.backup = w.intent },

		"scale": func() { w.want.Replicas = rapid.IntRange(1, 5).Draw(w.t, "to"); w.wakeManager() },
		"roll":  func() { w.generation++; w.wakeManager() },
	}
}

func (w *world) ticks(n int) {
	for range n {
		w.tick()
	}
}

// writeSomewhere lets a client that is connected to any server try its luck.
func (w *world) writeSomewhere() {
	var takers []*server
	for _, s := range w.servers() {
		if s.acceptsWrites(w) {
			takers = append(takers, s)
		}
	}
	if len(takers) > 0 {
		s := takers[0]
		w.lastWrite++
		s.write(w, w.lastWrite)
		w.note("  written on %s at %d", s.pod.uid, s.offset)
	}
}

func (w *world) managerStep() {
	if w.manager != nil {
		w.manager.watch(w)
		w.manager.step(w)
	}
}

// staleOrder lets a manager that was succeeded while frozen do one more thing. What it would write to the
// API server is refused, and that is its end.
func (w *world) staleOrder() {
	if w.zombie == nil || len(w.zombie.plan) == 0 {
		return
	}
	next := w.zombie.plan[0]
	w.zombie.plan = w.zombie.plan[1:]
	if next.Store != nil || next.Route != nil {
		w.zombie = nil
		return
	}
	if _, err := w.zombie.execute(w, next); err != nil {
		w.zombie = nil
	}
}

func (w *world) managerBack() {
	if w.manager == nil {
		w.manager = newManager(w)
	}
}

func (w *world) anyNode() *node {
	return w.nodes[rapid.IntRange(0, max(w.want.Replicas, 1)-1).Draw(w.t, "node")]
}

func (w *world) primaryNode() *node {
	if p := w.podOf(w.intent.PrimaryUID); p != nil && p.proc != nil {
		return p.proc.node
	}
	return w.nodes[0]
}

func (w *world) withServer(f func(s *server)) {
	if all := w.servers(); len(all) > 0 {
		s := all[rapid.IntRange(0, len(all)-1).Draw(w.t, "server")]
		w.note("  %s", s.pod.uid)
		f(s)
	}
}

func (w *world) withPrimary(f func(s *server)) {
	if p := w.podOf(w.intent.PrimaryUID); p != nil && p.proc != nil && p.proc.server != nil {
		f(p.proc.server)
	}
}

func (w *world) withPod(f func(i int)) {
	i := rapid.IntRange(0, len(w.pods)-1).Draw(w.t, "pod")
	if w.pods[i] != nil {
		w.note("  pod %s", w.pods[i].uid)
		f(i)
	}
}

func (w *world) eachPod(f func(i int)) {
	for i := range w.pods {
		if w.pods[i] != nil {
			f(i)
		}
	}
}

func (w *world) forceDeleteIf(i int, uid string) {
	if w.pods[i].uid == uid {
		w.forceDelete(i)
	}
}

// cutPower ends everything on a machine at once. An append-only file that is written to disk once a second
// may lose its last second.
func (w *world) cutPower(n *node) {
	w.note("  %s", n.name)
	n.down, n.frozen = true, false
	for _, p := range w.procs {
		if p.node != n || p.ended {
			continue
		}
		w.endProcess(p)
		if w.lossy {
			for len(p.disk.data) > 0 && w.now-p.disk.data[len(p.disk.data)-1].at < time.Second {
				p.disk.data = p.disk.data[:len(p.disk.data)-1]
			}
		}
	}
}

// thaw wakes a machine: its agents look at the clock before anybody is served.
func (w *world) thaw() {
	n := w.anyNode()
	n.frozen = false
	for _, p := range w.procs {
		if p.node == n && !p.ended {
			p.agent.live(w)
		}
	}
}

func (w *world) snapshotIfAble(s *server) {
	if s.answers() && s.syncing == 0 && s.joined {
		w.snapshot(s)
	}
}

func (w *world) cut(a, b *node) {
	if a != b {
		w.note("  %s and %s", a.name, b.name)
		w.cuts[[2]*node{a, b}] = true
	}
}

// loseStatus empties what the API server keeps.
func (w *world) loseStatus() {
	w.intent, w.statusLost = topology.Intent{}, true
	w.wakeManager()
}

// setStatusBack restores a backup of it.
func (w *world) setStatusBack() {
	w.intent, w.statusLost = w.backup, true
	w.wakeManager()
}

// isolate cuts a machine off from all the others.
func (w *world) isolate(n *node, also ...*node) {
	for _, other := range slices.Concat(w.nodes, also) {
		w.cut(n, other)
	}
}
