package fleet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

var errRefused = errors.New("connection refused")

// network is an in-memory network whose conversations can be frozen. Connections buffer what is
// written, as a kernel does, and block only on the bubble's own primitives, so that the fake time
// of synctest runs on.
type network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	cut       map[string]bool
	dials     map[string][]time.Time
	open      map[string][]*conn
}

func newNetwork() *network {
	return &network{
		listeners: map[string]*listener{},
		cut:       map[string]bool{},
		dials:     map[string][]time.Time{},
		open:      map[string][]*conn{},
	}
}

func (n *network) listen(address string) *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &listener{network: n, address: address, incoming: make(chan net.Conn), done: make(chan struct{})}
	n.listeners[address] = l
	return l
}

// freeze stops all bytes to and from an address, in both directions, and lets new connections hang.
func (n *network) freeze(address string) { n.setFrozen(address, true) }

// thaw delivers what was held back.
func (n *network) thaw(address string) { n.setFrozen(address, false) }

func (n *network) setFrozen(address string, frozen bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[address] = frozen
	for _, c := range n.open[address] {
		c.in.setFrozen(frozen)
		c.out.setFrozen(frozen)
	}
}

func (n *network) dialsTo(address string) []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]time.Time(nil), n.dials[address]...)
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dials[address] = append(n.dials[address], time.Now())
	l, cut := n.listeners[address], n.cut[address]
	n.mu.Unlock()
	switch {
	case cut:
		<-ctx.Done()
		return nil, ctx.Err()
	case l == nil:
		return nil, errRefused
	}
	there, here := newHalf(), newHalf()
	client, server := &conn{in: here, out: there}, &conn{in: there, out: here}
	select {
	case <-l.done:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	case l.incoming <- server:
	}
	n.mu.Lock()
	n.open[address] = append(n.open[address], client)
	n.mu.Unlock()
	return client, nil
}

type listener struct {
	network  *network
	address  string
	incoming chan net.Conn
	once     sync.Once
	done     chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		if l.network.listeners[l.address] == l {
			delete(l.network.listeners, l.address)
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory" }

// conn is one end of a connection.
type conn struct{ in, out *half }

func (c *conn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.write(p) }
func (c *conn) Close() error {
	c.in.close(net.ErrClosed)
	c.out.close(io.EOF)
	return nil
}
func (c *conn) LocalAddr() net.Addr                { return address{} }
func (c *conn) RemoteAddr() net.Addr               { return address{} }
func (c *conn) SetDeadline(t time.Time) error      { return c.SetReadDeadline(t) }
func (c *conn) SetReadDeadline(t time.Time) error  { c.in.setDeadline(t); return nil }
func (c *conn) SetWriteDeadline(_ time.Time) error { return nil }

// half is one direction of a connection.
type half struct {
	mu       sync.Mutex
	changed  *sync.Cond
	buffer   []byte
	frozen   bool
	end      error
	deadline time.Time
	timer    *time.Timer
}

func newHalf() *half {
	h := &half{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case errors.Is(h.end, net.ErrClosed):
			return 0, h.end
		case !h.deadline.IsZero() && !time.Now().Before(h.deadline):
			return 0, os.ErrDeadlineExceeded
		case h.frozen:
		case len(h.buffer) > 0:
			n := copy(p, h.buffer)
			h.buffer = h.buffer[n:]
			return n, nil
		case h.end != nil:
			return 0, h.end
		}
		h.changed.Wait()
	}
}

func (h *half) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end != nil {
		return 0, io.ErrClosedPipe
	}
	h.buffer = append(h.buffer, p...)
	h.changed.Broadcast()
	return len(p), nil
}

func (h *half) close(end error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end == nil || errors.Is(end, net.ErrClosed) {
		h.end = end
	}
	h.changed.Broadcast()
}

func (h *half) setFrozen(frozen bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frozen = frozen
	h.changed.Broadcast()
}

func (h *half) setDeadline(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deadline = t
	if h.timer != nil {
		h.timer.Stop()
	}
	if !t.IsZero() {
		h.timer = time.AfterFunc(time.Until(t), h.changed.Broadcast)
	}
	h.changed.Broadcast()
}
