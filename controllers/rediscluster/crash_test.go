package rediscluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
	"github.com/holdfast-dev/holdfast/internal/testkit/redissim"
)

// patience is how long a cluster may take for anything, by its own clock.
const patience = time.Minute

// quietPasses of each manager must write nothing.
const quietPasses = 2

// maxFailures are enough to see what is wrong.
const maxFailures = 5

// absence is how long it takes until a manager that died has a successor.
const absence = 300 * time.Millisecond

// run is a workload on its way in a world.
type run struct {
	workload workload
	world    *redissim.World
	// next act.
	next int
	// said is what the manager announced until the workload was done.
	said []string
}

// fork is the same run from here, in a world of its own, without a manager.
func (r *run) fork() *run {
	return &run{workload: r.workload, world: r.world.Copy(), next: r.next}
}

// finish runs until the workload is done and the cluster serves.
func (r *run) finish() error {
	err := r.world.Run(patience, func() (bool, error) {
		if r.next < len(r.workload.acts) {
			a := r.workload.acts[r.next]
			if a.when != nil && !a.when(r.world) {
				return false, nil
			}
			r.next++
			return false, a.do(r.world)
		}
		if m := r.world.Manager; m == nil || m.Err() != nil {
			return false, nil
		}
		return serves(r.world) && (r.workload.done == nil || r.workload.done(r.world)), nil
	})
	r.said = r.world.Manager.Events()
	if err != nil {
		return err
	}
	if count(r.said, "NameConflict") > 0 {
		return fmt.Errorf("the cluster meets somebody else: %v", r.said)
	}
	if !r.workload.unplanned && slices.ContainsFunc(r.said, speaksOfFailover) {
		return fmt.Errorf("what was planned became a failover: %v", r.said)
	}
	return r.staysQuiet()
}

// speaksOfFailover: a failover may complete what a hand-over began, when the primary's pod went while
// nobody looked. None may begin or be blocked.
func speaksOfFailover(event string) bool {
	return strings.HasPrefix(event, "FailoverStarted") || strings.HasPrefix(event, "FailoverBlocked")
}

// staysQuiet asks for passes that nothing called for, and lets a new manager look at everything: neither
// may write or order anything (I9).
func (r *run) staysQuiet() error {
	w := r.world
	for _, who := range []string{"the manager", "a new manager"} {
		if who == "a new manager" {
			w.KillManager()
			w.StartManager(reconcilerOf, apistore.Gate{})
		}
		before, orders := len(w.Store.Changes(0)), w.Manager.Orders()
		for range quietPasses {
			w.Manager.Pass()
			w.Step()
		}
		if err := w.Manager.Err(); err != nil {
			return fmt.Errorf("%s is not content: %w", who, err)
		}
		if more := w.Store.Changes(before); len(more) > 0 {
			return fmt.Errorf("%s writes in a settled cluster:\n%s", who, describe(more))
		}
		if more := w.Manager.Orders() - orders; more > 0 {
			return fmt.Errorf("%s gives %d orders in a settled cluster", who, more)
		}
	}
	return nil
}

// describe says what changed, in JSON.
func describe(changes []apistore.Change) string {
	var lines []string
	for _, c := range changes {
		before, err := json.Marshal(c.Before)
		after, err2 := json.Marshal(c.After)
		if err := errors.Join(err, err2); err != nil {
			return err.Error()
		}
		patch, err := jsonpatch.CreateMergePatch(before, after)
		if err != nil {
			patch = after
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", c.Key.Kind.Kind, c.Key.Name.Name, patch))
	}
	return strings.Join(lines, "\n")
}

// outcome is what a run came to.
type outcome struct {
	state  []string
	counts map[string]redissim.Count
}

func outcomeOf(w *redissim.World) (outcome, error) {
	state, err := w.EndState()
	return outcome{state: state, counts: w.Counts()}, err
}

// differs says what is not as in the reference; empty: nothing.
func (o outcome) differs(reference outcome) string {
	var lines []string
	for _, l := range o.state {
		if _, found := slices.BinarySearch(reference.state, l); !found {
			lines = append(lines, "+ "+l)
		}
	}
	for _, l := range reference.state {
		if _, found := slices.BinarySearch(o.state, l); !found {
			lines = append(lines, "- "+l)
		}
	}
	if got, want := o.counted(), reference.counted(); !slices.Equal(got, want) {
		lines = append(lines, fmt.Sprintf("made and deleted: %v\nin the reference: %v", got, want))
	}
	return strings.Join(lines, "\n")
}

// counted lists how often each object was made and deleted. Pods have no names here: which of several
// equal replicas is restarted first depends on whom the manager heard first.
func (o outcome) counted() []string {
	var out []string
	for name, n := range o.counts {
		if strings.HasPrefix(name, "Pod ") {
			name = "Pod"
		}
		out = append(out, fmt.Sprintf("%s %d/%d", name, n.Created, n.Deleted))
	}
	slices.Sort(out)
	return out
}

// crash is a moment at which the manager dies.
type crash struct {
	when string
	run  *run
}

// recorder keeps the world as it was before and after each write of the manager.
type recorder struct {
	mu     sync.Mutex
	run    *run
	writes int
	last   string
	points []crash
}

func (r *recorder) gate() apistore.Gate {
	return apistore.Gate{
		Before: func(w apistore.Write) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.writes++
			r.keep("before", w)
			return nil
		},
		After: func(w apistore.Write) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.keep("after", w)
			return nil
		},
	}
}

// keep notes the world at this moment, unless it is what it was at the moment before.
func (r *recorder) keep(moment string, w apistore.Write) {
	print := r.run.world.Fingerprint()
	if print == r.last {
		return
	}
	r.last = print
	r.points = append(r.points, crash{when: fmt.Sprintf("%s write %d, %s", moment, r.writes, w), run: r.run.fork()})
}

// lab prepares runs. What all of them begin with, and are compared with, is made once.
type lab struct {
	types *apistore.Types
	// settled worlds by the number of members.
	settled map[int32]*redissim.World
	// references by the name of the workload.
	references map[string]outcome
}

func newLab(t *testing.T) *lab {
	t.Helper()
	return &lab{types: kinds(t), settled: map[int32]*redissim.World{}, references: map[string]outcome{}}
}

// begin prepares a run of the workload. It must not be called from several goroutines at once before
// reference has been.
func (l *lab) begin(t *testing.T, w workload) *run {
	t.Helper()
	if w.members == 0 {
		return &run{workload: w, world: redissim.New(l.types, shop)}
	}
	if l.settled[w.members] == nil {
		l.settled[w.members] = settled(t, l.types, wantedCluster(w.members)).Copy()
	}
	return &run{workload: w, world: l.settled[w.members].Copy()}
}

// record runs the workload without a crash, and keeps every moment at which there could be one.
func (l *lab) record(t *testing.T, w workload) (outcome, *recorder) {
	t.Helper()
	r := l.begin(t, w)
	rec := &recorder{run: r}
	return l.end(t, r, rec.gate()), rec
}

// reference is the end of the workload without a crash.
func (l *lab) reference(t *testing.T, name string) outcome {
	t.Helper()
	if _, known := l.references[name]; !known {
		l.references[name] = l.end(t, l.begin(t, workloads()[name]), apistore.Gate{})
	}
	return l.references[name]
}

func (l *lab) end(t *testing.T, r *run, gate apistore.Gate) outcome {
	t.Helper()
	r.world.StartManager(reconcilerOf, gate)
	if err := r.finish(); err != nil {
		t.Fatalf("reference run: %v\nlast pass: %v\nevents: %v", err, r.world.Manager.Err(), r.said)
	}
	o, err := outcomeOf(r.world)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestACrashAtAnyWriteEndsInTheSameState lets the manager die before and after every single write, be it
// to the API server or an order to an agent. Its successor must come to the end that the reference
// run came to, by as many creations and deletions, and be quiet then.
func TestACrashAtAnyWriteEndsInTheSameState(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for name, w := range workloads() {
		reference, rec := l.record(t, w)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rec.writes == 0 {
				t.Fatal("the manager wrote nothing")
			}
			failed := 0
			tried := 0
			for i, c := range rec.points {
				if i%sampleEvery != 0 {
					continue
				}
				tried++
				if err := c.survive(reference); err != nil {
					t.Errorf("crash %s: %v", c.when, err)
					failed++
				}
				if failed == maxFailures {
					t.Fatal("there may be more")
				}
			}
			t.Logf("%d writes, %d different moments to crash in, %d tried", rec.writes, len(rec.points), tried)
		})
	}
}

// survive lets a new manager take over at this moment.
func (c crash) survive(reference outcome) error {
	w := c.run.world
	for range absence / redissim.Tick {
		w.Step()
	}
	m := w.StartManager(reconcilerOf, apistore.Gate{})
	if err := c.run.finish(); err != nil {
		return fmt.Errorf("%w\nevents: %v", errors.Join(err, m.Err()), m.Events())
	}
	o, err := outcomeOf(w)
	if err != nil {
		return err
	}
	if diff := o.differs(reference); diff != "" {
		return fmt.Errorf("the end is another:\n%s\nevents: %v", diff, m.Events())
	}
	return nil
}

// TestEveryWriteIsTheLastOfItsManager lets each manager die after a single write or order, so that no two
// of them come from one process. The end must be that of the reference run.
func TestEveryWriteIsTheLastOfItsManager(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for name, w := range workloads() {
		reference := l.reference(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := l.begin(t, w)
			managers := 0
			r.mortal(func() { managers++ })
			if err := r.finish(); err != nil {
				t.Fatalf("after %d managers: %v", managers, err)
			}
			o, err := outcomeOf(r.world)
			if err != nil {
				t.Fatal(err)
			}
			if diff := o.differs(reference); diff != "" {
				t.Errorf("the end is another:\n%s", diff)
			}
			if managers < 2 {
				t.Error("no manager died")
			}
		})
	}
}

var errDead = errors.New("the manager is dead")

// mortal starts a manager that dies with its first write, as does its successor.
func (r *run) mortal(born func()) {
	born()
	var mu sync.Mutex
	dead := false
	r.world.StartManager(reconcilerOf, apistore.Gate{
		Before: func(apistore.Write) error {
			mu.Lock()
			defer mu.Unlock()
			if dead {
				return errDead
			}
			dead = true
			r.world.OnNextStep(func() { r.world.KillManager(); r.mortal(born) })
			return nil
		},
		After: func(apistore.Write) error { return errDead },
	})
}
