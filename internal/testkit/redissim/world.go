package redissim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
)

// Tick is how far one Step moves the clock.
const Tick = 50 * time.Millisecond

// World is everything but the manager's memory.
type World struct {
	// Store is the API server.
	Store *apistore.Store
	// Cluster under test.
	Cluster types.NamespacedName
	// Manager; nil while there is none.
	Manager *Manager
	// Refuses are parameters that the servers refuse to change, with their words.
	Refuses map[string]string
	// Images that cannot be pulled, with the words of the kubelet.
	Images map[string]string
	// Lag is how many changes the manager's cache is behind for up to lagTime.
	Lag int

	mu     sync.Mutex // orders come from several goroutines
	now    time.Time
	agents map[types.UID]*agent
	disks  map[string]*disk
	serial int
	// obeyed counts the orders that agents have carried out.
	obeyed  int
	entropy *rand.ChaCha8
	clients clients
	checks  checks
	// busyAt is when anything last happened that a steady cluster does not do.
	busyAt time.Time
	seen   int
	// soon is done at the beginning of the next step.
	soon []func()
}

// New makes an empty world.
func New(kinds *apistore.Types, cluster types.NamespacedName) *World {
	w := &World{
		Cluster: cluster,
		now:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Images:  map[string]string{},
		agents:  map[types.UID]*agent{},
		disks:   map[string]*disk{},
		entropy: rand.NewChaCha8([32]byte{}),
		clients: newClients(),
		checks:  newChecks(),
	}
	w.Store = apistore.New(kinds, w.Now)
	return w
}

// Now is the time in the world.
func (w *World) Now() time.Time { return w.now }

// Copy is the world without its manager, to go its own way from here.
func (w *World) Copy() *World {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.copy()
}

func (w *World) copy() *World {
	entropy := *w.entropy
	c := &World{
		Cluster: w.Cluster, Refuses: maps.Clone(w.Refuses), Images: maps.Clone(w.Images), Lag: w.Lag,
		now: w.now, agents: map[types.UID]*agent{}, disks: map[string]*disk{},
		serial: w.serial, obeyed: w.obeyed, entropy: &entropy, clients: w.clients.copy(), checks: w.checks.copy(),
		busyAt: w.busyAt, seen: w.seen,
	}
	c.Store = w.Store.Copy(c.Now)
	for name, d := range w.disks {
		c.disks[name] = d.copy()
	}
	for uid, a := range w.agents {
		c.agents[uid] = a.copy(c, w)
	}
	return c
}

// Step lets a moment pass for everybody.
func (w *World) Step() {
	w.mu.Lock()
	soon := w.soon
	w.soon = nil
	w.mu.Unlock()
	for _, do := range soon {
		do()
	}
	w.mu.Lock()
	w.now = w.now.Add(Tick)
	w.runKubernetes()
	for _, a := range w.inOrder() {
		a.advance()
	}
	for _, a := range w.inOrder() {
		a.replicate()
	}
	w.clients.confirm(w)
	w.clients.write(w)
	w.mu.Unlock()
	if w.Manager != nil {
		w.Manager.step()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteChanges()
	w.check()
}

// OnNextStep does something when the step that is under way is over.
func (w *World) OnNextStep(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.soon = append(w.soon, do)
}

// Fingerprint differs between two moments between which anything was written, ordered or has moved.
func (w *World) Fingerprint() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.now.UnixNano(), len(w.Store.Changes(0)), w.obeyed)
}

// noteChanges finds out whether anything happened.
func (w *World) noteChanges() {
	changes := w.Store.Changes(w.seen)
	if len(changes) > 0 {
		w.busy()
	}
	w.seen += len(changes)
}

func (w *World) busy() { w.busyAt = w.now }

// QuietFor is how long nothing has happened but heartbeats and what clients do.
func (w *World) QuietFor() time.Duration { return w.now.Sub(w.busyAt) }

// Run steps until each, which is asked after every step, says that all is done, and everything is
// quiet for a while. It gives up after a time in the world.
func (w *World) Run(atMost time.Duration, each func() (done bool, err error)) error {
	const quiet = 1500 * time.Millisecond
	end := w.now.Add(atMost)
	for {
		w.Step()
		if err := w.Violation(); err != nil {
			return err
		}
		done, err := each()
		switch {
		case err != nil:
			return err
		case done && w.QuietFor() >= quiet:
			return w.checkConfirmed()
		case !w.now.Before(end):
			return fmt.Errorf("nothing settled within %s, quiet for %s, done: %t", atMost, w.QuietFor(), done)
		}
	}
}

// Pass lets that much time pass, whatever happens in it.
func (w *World) Pass(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.Step()
	}
}

func (w *World) inOrder() []*agent {
	all := slices.Collect(maps.Values(w.agents))
	slices.SortFunc(all, func(a, b *agent) int { return a.number - b.number })
	return all
}

// next numbers what must not have the name of anything before it.
func (w *World) next() int {
	w.serial++
	return w.serial
}

// Read makes the world a source of bytes that looks random and is the same in every run.
func (w *World) Read(p []byte) (int, error) { return w.entropy.Read(p) }
