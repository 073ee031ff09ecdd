package fakeagent

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Options of an Agent.
type Options struct {
	// TLS that the agent serves with; it should demand and verify client certificates.
	TLS *tls.Config
	// Record is the first record; PodUID, Cluster and AgentInstance should be set.
	Record wire.Record
	// Heartbeat between records when nothing changes; 0: none but those from Beat.
	Heartbeat time.Duration
	// Mute makes the agent open streams and send no record.
	Mute bool
	// OnOrder sees each order before it takes effect; what it returns, if anything, is answered
	// instead.
	OnOrder func(Order) *Answer
	// Assigned says what an accepted assignment changes beside what it changes in every agent. It
	// must not call the agent.
	Assigned func(wire.Assignment, *wire.Record)
	// Refresh brings what moves without an order, such as ages and offsets, up to date in each record
	// that leaves. It must not call the agent.
	Refresh func(*wire.Record)
}

// Order is a request as it arrived.
type Order struct {
	Path string
	Body []byte
	// Context ends when the caller gives up.
	Context context.Context
}

// Answer replaces an agent's own answer to an order.
type Answer struct {
	Status int
	// Body is sent as JSON.
	Body any
}

// Agent is a fake agent. Its methods may be called from any goroutine.
type Agent struct {
	options Options
	server  *http.Server
	started time.Time

	mu      sync.Mutex
	record  wire.Record
	changed chan struct{} // closed and replaced when there is a record to push
	orders  []Order
	echoes  []int64
	streams int
}

// New makes an Agent; it answers once Serve is called.
func New(o Options) *Agent {
	a := &Agent{options: o, record: o.Record, changed: make(chan struct{}), started: time.Now()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+wire.PathStream, a.stream)
	mux.HandleFunc("PUT "+wire.PathAssignment, a.assignment)
	mux.HandleFunc("POST "+wire.PathHandOver, a.handOver)
	mux.HandleFunc("POST "+wire.PathKill, a.kill)
	mux.HandleFunc("POST "+wire.PathRefresh, a.refresh)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	a.server = &http.Server{
		Handler:   mux,
		TLSConfig: o.TLS.Clone(), // the server completes it for itself
		Protocols: protocols,
		// A client sizes the buffer of a request that never ends by this: the default costs it
		// half a megabyte a stream.
		HTTP2:             &http.HTTP2Config{MaxReadFrameSize: 16 << 10},
		ReadHeaderTimeout: 10 * time.Second,
	}
	return a
}

// Serve answers on l until Close.
func (a *Agent) Serve(l net.Listener) error {
	if err := a.server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close breaks all connections.
func (a *Agent) Close() error { return a.server.Close() }

// Change alters the record, counts it as material and pushes it.
func (a *Agent) Change(alter func(*wire.Record)) {
	a.push(func(r *wire.Record) {
		alter(r)
		r.Material++
	})
}

// Beat pushes a heartbeat.
func (a *Agent) Beat() { a.push(func(*wire.Record) {}) }

// Replace sets the record as it is given, and pushes it.
func (a *Agent) Replace(record wire.Record) {
	a.push(func(r *wire.Record) {
		record.Seq = r.Seq
		*r = record
	})
}

// Record is the newest record.
func (a *Agent) Record() wire.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record
}

// Orders that arrived so far.
func (a *Agent) Orders() []Order {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Order(nil), a.orders...)
}

// Echoes that arrived so far: the SentMono of each.
func (a *Agent) Echoes() []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]int64(nil), a.echoes...)
}

// Streams is how many streams were opened so far.
func (a *Agent) Streams() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.streams
}

func (a *Agent) push(alter func(*wire.Record)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	alter(&a.record)
	a.stamp()
	close(a.changed)
	a.changed = make(chan struct{})
}

// stamp is called with the lock held.
func (a *Agent) stamp() {
	a.record.Seq++
	a.record.SentMono = int64(time.Since(a.started))
	if a.options.Refresh != nil {
		a.options.Refresh(&a.record)
	}
}

// fresh is a record of this moment and the channel that tells of the next.
func (a *Agent) fresh() (wire.Record, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stamp()
	return a.record, a.changed
}

func (a *Agent) stream(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.streams++
	a.mu.Unlock()
	go a.readEchoes(r)

	flush := http.NewResponseController(w).Flush
	w.WriteHeader(http.StatusOK)
	if flush() != nil {
		return
	}
	if a.options.Mute {
		<-r.Context().Done()
		return
	}
	out := json.NewEncoder(w)
	for {
		record, changed := a.fresh()
		if out.Encode(record) != nil || flush() != nil || record.Final {
			return
		}
		if !a.wait(r.Context(), changed) {
			return
		}
	}
}

// wait returns when there is something to send, and false when there is nobody to send it to.
func (a *Agent) wait(ctx context.Context, changed <-chan struct{}) bool {
	var beat <-chan time.Time
	if a.options.Heartbeat > 0 {
		timer := time.NewTimer(a.options.Heartbeat)
		defer timer.Stop()
		beat = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
		return true
	case <-beat:
		return true
	}
}

func (a *Agent) readEchoes(r *http.Request) {
	in := json.NewDecoder(r.Body)
	for {
		var echo wire.Echo
		if in.Decode(&echo) != nil {
			return
		}
		a.mu.Lock()
		a.echoes = append(a.echoes, echo.SentMono)
		a.mu.Unlock()
	}
}
