package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

// Timing of the clients. They are impatient, so that a gap is measured finely.
const (
	// dialTimeout bounds a connection attempt: a SYN to an address without a host is never answered.
	dialTimeout = 50 * time.Millisecond
	// tunnelTimeout bounds it where Options.Dial takes the place of the network, and takes longer.
	tunnelTimeout = 5 * time.Second
	// replyTimeout bounds the wait for an answer; a frozen server still accepts connections.
	replyTimeout = 250 * time.Millisecond
	// waitTimeout is given to WAIT; shorter than replyTimeout, so that a missing confirmation is no lost answer.
	waitTimeout = 150 * time.Millisecond
	// backoff after an error.
	backoff = 2 * time.Millisecond
)

// readEvery makes every n-th append read its list.
const readEvery = 20

// DialFunc makes a connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Options of a load.
type Options struct {
	// Address of the primary, host:port. Every new connection goes there.
	Address string
	// Dial replaces the network, for example by a tunnel; nil: the network.
	Dial DialFunc
	// Passwords of the default user, tried in order on each new connection.
	Passwords []string
	// History that the clients write to.
	History *history.Recorder
	// Layout of the keys.
	Layout Layout
	// Adders and Appenders are the numbers of clients of each kind.
	Adders, Appenders int
	// Pace is the time between two operations of one client.
	Pace time.Duration
	// Reconnect after so many operations of a connection; 0: only after an error.
	Reconnect int

	dialTimeout time.Duration
}

func (o Options) validate() error {
	switch {
	case o.Address == "":
		return errors.New("load: no address")
	case o.History == nil:
		return errors.New("load: no history")
	case o.Adders+o.Appenders < 1:
		return errors.New("load: no clients")
	case o.Pace <= 0:
		return errors.New("load: no pace")
	case len(o.Passwords) == 0:
		return errors.New("load: no password")
	}
	return nil
}

// Load is a running set of clients.
type Load struct {
	options Options
	cancel  context.CancelFunc
	clients sync.WaitGroup
}

// Start starts the clients. They run until Stop or until ctx ends.
func Start(ctx context.Context, o Options) (*Load, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.dialTimeout = tunnelTimeout
	if o.Dial == nil {
		o.Dial, o.dialTimeout = (&net.Dialer{}).DialContext, dialTimeout
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &Load{options: o, cancel: cancel}
	for number := range o.Adders + o.Appenders {
		c := newClient(number, o)
		l.clients.Go(func() { c.run(ctx) })
	}
	return l, nil
}

// Stop ends the clients after their current operation.
func (l *Load) Stop() {
	l.cancel()
	l.clients.Wait()
}

// WaitConfirmed waits until so many more writes were confirmed by a replica.
func (l *Load) WaitConfirmed(ctx context.Context, more int) error {
	return l.wait(ctx, more, func(c history.Counts) int { return c.Confirmed })
}

// WaitAccepted waits until so many more writes were accepted.
func (l *Load) WaitAccepted(ctx context.Context, more int) error {
	return l.wait(ctx, more, func(c history.Counts) int { return c.Accepted })
}

func (l *Load) wait(ctx context.Context, more int, count func(history.Counts) int) error {
	const poll = 5 * time.Millisecond
	goal := count(l.options.History.Counts()) + more
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		counts := l.options.History.Counts()
		if count(counts) >= goal {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %d more writes (now %+v): %w", goal-count(counts), counts, ctx.Err())
		case <-ticker.C:
		}
	}
}
