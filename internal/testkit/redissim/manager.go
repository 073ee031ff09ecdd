package redissim

import (
	"context"
	"fmt"
	"io"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
)

// Edges are what a reconciler in the world touches.
type Edges struct {
	// Client reads from the manager's cache, Live past it.
	Client client.Client
	Live   client.Client
	Fleet  *Fleet
	// Events takes what is announced.
	Events *Events
	Now    func() time.Time
	Random io.Reader
}

// Factory makes the reconciler of a manager that starts.
type Factory func(Edges) reconcile.Reconciler

// Manager is one process: a reconciler with its memory, its cache, its streams and its queue.
type Manager struct {
	w          *World
	reconciler reconcile.Reconciler
	view       *apistore.View
	fleet      *Fleet
	events     *Events

	woken    bool
	due      time.Time
	failures int
	passes   int
	lastErr  error
	// visible holds the times of changes that the cache may not show yet.
	laggedAt time.Time
}

const (
	// lagTime is how long the cache is behind at most.
	lagTime = time.Second
	// maxPasses in one step; an event that comes of a pass brings the next one.
	maxPasses    = 3
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = 5 * time.Second
)

// StartManager lets a new process take over. The gate sees its writes and its orders.
func (w *World) StartManager(make Factory, gate apistore.Gate) *Manager {
	m := &Manager{w: w, view: w.Store.View(), woken: true, events: &Events{}}
	gate = w.watched(gate)
	m.fleet = &Fleet{w: w, gate: gate, members: map[types.UID]*stream{}}
	m.reconciler = make(Edges{
		Client: w.Store.Cached(m.view, gate), Live: w.Store.Client(),
		Fleet: m.fleet, Events: m.events, Now: w.Now, Random: w,
	})
	w.Manager = m
	return m
}

// watched looks at each write, too: a delete must say which object it means (I6).
func (w *World) watched(gate apistore.Gate) apistore.Gate {
	before := gate.Before
	gate.Before = func(write apistore.Write) error {
		if write.Verb == "delete" && write.UID == "" {
			w.mu.Lock()
			w.violated("%s carries no UID", write)
			w.mu.Unlock()
		}
		if before == nil {
			return nil
		}
		return before(write)
	}
	return gate
}

// KillManager ends it in an instant. What it was about to do does not happen.
func (w *World) KillManager() {
	if w.Manager != nil {
		w.Manager.fleet.dead = true
	}
	w.Manager = nil
}

// Pass asks for one pass that nothing called for.
func (m *Manager) Pass() { m.woken = true }

// Passes is how many there were.
func (m *Manager) Passes() int { return m.passes }

// Orders is how many orders reached an agent.
func (m *Manager) Orders() int { return m.fleet.orders }

// RequiredEpoch is the one below which no record is echoed.
func (m *Manager) RequiredEpoch() int64 { return m.fleet.required }

// Err is what the last pass came to.
func (m *Manager) Err() error { return m.lastErr }

// Events are what was announced.
func (m *Manager) Events() []string { return m.events.said }

// step delivers what happened, and runs the passes that are due.
func (m *Manager) step() {
	m.w.mu.Lock()
	m.fleet.step()
	m.w.mu.Unlock()
	for range maxPasses {
		m.follow()
		if !m.woken && !m.fleet.woken && (m.due.IsZero() || m.w.now.Before(m.due)) {
			return
		}
		m.run()
	}
}

// follow lets the cache take in what it is to see, and wakes the reconciler as its watches do.
func (m *Manager) follow() {
	behind := m.w.Lag
	if m.w.now.Sub(m.laggedAt) >= lagTime {
		m.laggedAt, behind = m.w.now, 0
	}
	for _, c := range m.view.Follow(behind) {
		m.woken = m.woken || wakes(c)
	}
}

// wakes says whether a watch would ask for a pass.
func wakes(c apistore.Change) bool {
	if c.Key.Kind.Kind != "RedisCluster" {
		return labelled(c.After) || labelled(c.Before)
	}
	if c.Before == nil || c.After == nil {
		return true
	}
	return c.Before.GetGeneration() != c.After.GetGeneration() ||
		!maps.Equal(c.Before.GetAnnotations(), c.After.GetAnnotations()) ||
		!maps.Equal(c.Before.GetLabels(), c.After.GetLabels())
}

func labelled(o client.Object) bool { return o != nil && o.GetLabels()[naming.LabelCluster] != "" }

func (m *Manager) run() {
	m.woken, m.fleet.woken, m.due = false, false, time.Time{}
	m.passes++
	result, err := m.reconciler.Reconcile(context.Background(), reconcile.Request{NamespacedName: m.w.Cluster})
	m.lastErr = err
	switch {
	case err != nil:
		m.failures++
		m.due = m.w.now.Add(min(firstBackoff<<min(m.failures, 16), lastBackoff))
	default:
		m.failures = 0
		if result.RequeueAfter > 0 {
			m.due = m.w.now.Add(result.RequeueAfter)
		}
	}
}

// Events remembers what was announced.
type Events struct{ said []string }

// Eventf implements events.Recorder.
func (e *Events) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	e.said = append(e.said, reason+": "+fmt.Sprintf(note, args...))
}
