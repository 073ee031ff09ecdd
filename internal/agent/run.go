package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Agent runs one member.
type Agent struct {
	opt   Options
	store *epochStore

	// inbox carries events to the loop; gone is closed when the loop has ended.
	inbox chan func()
	gone  chan struct{}
	// epoch is a copy of the highest epoch for what runs beside the loop.
	epoch atomic.Int64

	// All below belongs to the loop.
	m       *member
	journal journal
	readers map[chan wire.Record]struct{}
	sentAt  time.Duration
	// process is the running server, nil for none; starting while one is being started.
	process  *process
	starting bool
	killing  bool
	// inspecting: the data directory is being read; a last record waits for it.
	inspecting bool
	restartAt  time.Duration
	backoff    time.Duration
	job        *job
	handOver   *job
	waiters    []chan error
	exits      []chan struct{}
	stop       stopping
	peers      *peerCalls
	// watch ends the watch over the server, look has it asked; beats counts the ticks.
	watch context.CancelFunc
	look  chan struct{}
	beats int
	// askedAt is when the newest observation was asked for.
	askedAt time.Duration
	background
}

// background is the context of everything that the agent starts and the way to wait for it.
type background struct {
	ctx context.Context
	wg  *sync.WaitGroup
}

// goes runs f in the background.
func (b background) goes(f func()) {
	b.wg.Add(1)
	go func() {
		defer b.wg.Done()
		f()
	}()
}

// New prepares an agent; Run starts it.
func New(o Options) (*Agent, error) {
	store, err := openEpochStore(o.StateDir, o.Identity.Cluster)
	if err != nil {
		return nil, err
	}
	a := &Agent{
		opt:     o,
		store:   store,
		inbox:   make(chan func()),
		gone:    make(chan struct{}),
		m:       newMember(o.Identity, store.load()),
		readers: map[chan wire.Record]struct{}{},
		backoff: firstRestart,
	}
	a.epoch.Store(a.m.epochs.Seen)
	return a, nil
}

// Run serves until ctx ends and the server has then stopped in order. It returns nil after that,
// and an error if the agent cannot serve.
func (a *Agent) Run(ctx context.Context) error {
	// What runs in the background outlives ctx: a stop is work too.
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	a.background = background{ctx: inner, wg: &sync.WaitGroup{}}
	a.peers = newPeerCalls(a)
	a.inspect()

	orders, probes := a.orderServer(), a.probeServer()
	failed := make(chan error, 2)
	a.goes(func() { failed <- serve("orders", orders, a.opt.Orders) })
	a.goes(func() { failed <- serve("probes", probes, a.opt.Probes) })
	err := a.loop(ctx, failed)
	close(a.gone)

	// The last record must leave before the connections close.
	flush, stopFlush := context.WithTimeout(inner, time.Second)
	defer stopFlush()
	_ = orders.Shutdown(flush)
	_ = orders.Close()
	_ = probes.Close()
	cancel()
	a.wg.Wait()
	return err
}

func serve(name string, s *http.Server, l net.Listener) error {
	if s.TLSConfig != nil {
		return servingError(name, s.ServeTLS(l, "", ""))
	}
	return servingError(name, s.Serve(l))
}

func servingError(name string, err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", name, err)
}

// loop owns the state until the server has stopped for good.
func (a *Agent) loop(ctx context.Context, failed <-chan error) error {
	ticks, stopTicks := a.opt.Clock.Ticker(tick)
	defer stopTicks()
	told := ctx.Done()
	for {
		select {
		case event := <-a.inbox:
			a.guard()
			event()
		case <-ticks:
			a.guard()
			a.beat()
		case <-told:
			told = nil
			a.guard()
			a.beginStop()
		case err := <-failed:
			if err != nil {
				return errors.Join(err, a.killAndWait())
			}
		}
		a.epoch.Store(a.m.epochs.Seen)
		a.advance()
		a.report()
		if a.m.final {
			return nil
		}
	}
}

// guard runs before every event.
func (a *Agent) guard() {
	now := a.opt.Clock.Now()
	a.m.seeSilence(now)
	// A server that was asked to end takes no writes any more, and may be busy saving.
	if a.process == nil || a.killing || a.stop.asked {
		return
	}
	a.m.checkLease(now)
	switch {
	case a.m.isIsolated(now):
		a.opt.Logger.Warn("nobody is in touch, killing the server")
		a.m.isolated = true
		a.killServer()
	case a.m.fenceIsLate(now):
		a.opt.Logger.Warn("the server did not confirm that it refuses writes, killing it")
		a.killServer()
	}
}

// beat starts what is done again and again. All of it hangs on one clock: what wakes the process
// together costs a part of what it would cost one by one.
func (a *Agent) beat() {
	if a.look != nil {
		wake(a.look)
	}
	if a.beats++; a.beats%int(wire.HeartbeatInterval/tick) == 0 {
		a.peers.beat()
	}
}

// report sends a record when something material changed or the heartbeat is due.
func (a *Agent) report() {
	now := a.opt.Clock.Now()
	if a.journal.noteChange(a.m, now) || a.m.final || now-a.sentAt >= wire.HeartbeatInterval {
		a.sentAt = now
		record := a.journal.write(a.m, now)
		for r := range a.readers {
			replace(r, record)
		}
	}
}

// replace puts a message into a channel of one, in place of one that was not read yet: messages are
// complete, so only the newest counts. Only one goroutine may put.
func replace[T any](c chan T, message T) {
	select {
	case <-c:
	default:
	}
	c <- message
}

// post hands an event to the loop; it is dropped when the loop has ended.
func (a *Agent) post(event func()) {
	select {
	case a.inbox <- event:
	case <-a.gone:
	}
}

var errStopped = errors.New("the agent has stopped")

// do runs an event on the loop and waits for it.
func (a *Agent) do(ctx context.Context, event func()) error {
	done := make(chan struct{})
	select {
	case a.inbox <- func() { event(); close(done) }:
	case <-ctx.Done():
		return ctx.Err()
	case <-a.gone:
		return errStopped
	}
	// The loop runs what it took, so this does not hang.
	<-done
	return nil
}

// record is a fresh record of the member.
func (a *Agent) record(ctx context.Context) (wire.Record, error) {
	var r wire.Record
	err := a.do(ctx, func() { r = a.journal.write(a.m, a.opt.Clock.Now()) })
	return r, err
}

// inspect reads in the background what the data directory claims.
func (a *Agent) inspect() {
	a.inspecting = true
	a.goes(func() {
		o, err := a.opt.Engine.Inspect(a.ctx)
		a.post(func() {
			a.inspecting = false
			if err != nil {
				a.opt.Logger.Error("inspect the data directory", "error", err)
				return
			}
			if a.process == nil {
				a.m.observed = &o
			}
		})
	})
}
