package redissim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// The times of an agent and its server.
const (
	bootTime     = 150 * time.Millisecond
	restartDelay = 100 * time.Millisecond
	relief       = 20 * time.Second
	// reliefContact is how long a primary that stops waits after the manager was heard last.
	reliefContact = 2 * time.Second
)

// agent is PID 1 of a pod, and the server that it runs.
type agent struct {
	w *World
	// number orders agents by their start; instance names the process.
	number   int
	instance string
	pod      string
	uid      types.UID
	cluster  string
	ip       string
	disk     *disk

	assigned        *wire.Assignment
	digest          string // of what is applied completely
	assignmentError string
	pending         bool
	granted         bool
	handedOver      int64

	phase       wire.ServerPhase
	starts      int
	restartAt   time.Time
	lastExit    string
	killedEpoch int64
	server      *server

	epochSince time.Time
	contacts   contacts
	fenced     bool
	fencedAt   int64
	isolated   bool

	stopping, final, gone bool
	reliefUntil           time.Time
	notedAt               time.Time

	seq, material uint64
	print         fingerprint
}

func newAgent(w *World, pod *corev1.Pod, ip string) *agent {
	a := &agent{
		w: w, number: w.serial, instance: fmt.Sprintf("agent-%d", w.serial),
		pod: pod.Name, uid: pod.UID, cluster: clusterOf(pod), ip: ip,
		disk: w.disk(pod.Name), phase: wire.ServerWaiting, contacts: newContacts(w.now), epochSince: w.now,
	}
	a.disk.adopt(a.cluster)
	return a
}

func (a *agent) copy(to, from *World) *agent {
	c := *a
	c.w = to
	for name, d := range from.disks {
		if d == a.disk {
			c.disk = to.disks[name]
		}
	}
	if c.disk == a.disk {
		// The volume went with an earlier pod of that name.
		c.disk = a.disk.copy()
	}
	if a.server != nil {
		c.server = a.server.copy()
	}
	c.contacts = a.contacts.copy()
	return &c
}

// running says whether the server answers.
func (a *agent) running() bool { return !a.gone && a.phase == wire.ServerRunning }

// advance does what is due.
func (a *agent) advance() {
	now := a.w.now
	if a.gone {
		return
	}
	a.checkLease(now)
	a.greetPeers(now)
	if a.isIsolated(now) {
		a.stripped()
		a.serverEnds("isolated")
		a.isolated = true
	}
	if a.stopping && a.advanceStop(now) {
		return
	}
	mayStart := a.server == nil && a.assigned != nil && a.killedEpoch == 0 && !a.isolated && !now.Before(a.restartAt)
	switch {
	case mayStart:
		a.boot(now)
	case a.phase == wire.ServerStarting && !now.Before(a.server.readyAt):
		a.phase = wire.ServerRunning
	}
	if a.phase == wire.ServerRunning && a.pending {
		a.apply()
	}
	a.note(now)
}

// advanceStop takes the next step of an ordered stop, and says whether the usual work must rest.
func (a *agent) advanceStop(now time.Time) bool {
	relieved := !a.granted || len(a.assigned.Peers) == 0 || !a.running() || now.Sub(a.contacts.manager) >= reliefContact
	switch {
	case a.final:
		// The last record was on its way for a whole step.
		a.gone = true
		return true
	case a.server != nil && !relieved && now.Before(a.reliefUntil):
		return false
	case a.server != nil:
		a.notedAt = time.Time{}
		a.note(now)
		a.stripped()
		a.serverEnds("exit status 0")
	}
	a.final = true
	return true
}

// terminate is the signal that the pod is to end.
func (a *agent) terminate() {
	if !a.stopping {
		a.stopping, a.reliefUntil = true, a.w.now.Add(relief)
	}
}

// die is the end of the whole pod without a word.
func (a *agent) die() {
	a.server, a.gone = nil, true
	a.phase = wire.ServerDown
}

func (a *agent) boot(now time.Time) {
	a.starts++
	a.phase = wire.ServerStarting
	a.server = newServer(a.w, a.disk, decodeWishes(a.assigned.Engine))
	a.server.readyAt = now.Add(bootTime)
	a.disk.used = true
}

// crash is the end of the server that nobody ordered.
func (a *agent) crash() {
	a.stripped()
	a.serverEnds("signal: killed")
}

func (a *agent) serverEnds(how string) {
	a.server = nil
	a.phase, a.lastExit = wire.ServerDown, how
	a.restartAt = a.w.now.Add(restartDelay)
}

// stripped takes every role and every open order from the agent.
func (a *agent) stripped() {
	a.granted, a.pending, a.fenced = false, false, false
	a.digest, a.handedOver = "", 0
}

// note writes the lineage beside the data, at most once a second.
func (a *agent) note(now time.Time) {
	if a.phase != wire.ServerRunning || now.Sub(a.notedAt) < time.Second {
		return
	}
	a.notedAt = now
	a.disk.note = a.server.lineage(a.cluster, a.disk.seen)
}

// see persists a higher epoch before it is acted on.
func (a *agent) see(epoch int64) {
	if epoch > a.disk.seen {
		a.disk.seen, a.epochSince = epoch, a.w.now
	}
}
