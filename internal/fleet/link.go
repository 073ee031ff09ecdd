package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

const (
	// minBackoff and maxBackoff bound the wait between two attempts to connect.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 2 * time.Second
	// startingBackoff bounds the wait while a pod is new: it has its address before its agent listens, and a
	// cluster that is being made waits for nothing else.
	startingBackoff = 200 * time.Millisecond
	startingFor     = 30 * time.Second
	// firstRecordTimeout for a stream that opens and then says nothing.
	firstRecordTimeout = 2 * time.Second
	// recordSize is what a record usually needs, maxRecord what it may need.
	recordSize = 2 << 10
	maxRecord  = 256 << 10
)

var (
	errReplaced = errors.New("the link was replaced")
	errEnded    = errors.New("the agent ended the stream")
	errMute     = errors.New("the agent opened a stream and sent no record")
)

// link is the connection to one member at one address: it dials, reads records until the stream
// breaks, waits and dials again, until it is cancelled.
type link struct {
	fleet   *Fleet
	dialer  *dialer
	clock   clock.WithTickerAndDelayedExecution
	log     logr.Logger
	cluster types.NamespacedName
	target  Member
	member  *memberState

	cancel context.CancelFunc
	urgent chan struct{}

	// conn is set by run before the stream opens; others read the member's.
	conn *http.ClientConn
}

// newLink is called with the fleet's lock held.
func newLink(f *Fleet, d *dialer, m *memberState) *link {
	return &link{
		fleet: f, dialer: d, clock: f.options.Clock, member: m,
		log:     f.options.Logger.WithValues("cluster", m.cluster().String(), "pod", m.Pod, "address", m.Address),
		cluster: m.cluster(), target: m.Member,
		urgent: make(chan struct{}, 1),
	}
}

// hurry makes a waiting link dial now instead of at the end of its back-off.
func (l *link) hurry() {
	select {
	case l.urgent <- struct{}{}:
	default:
	}
}

func (l *link) run(ctx context.Context) {
	backoff, started := minBackoff, l.clock.Now()
	for {
		opened, err := l.serve(ctx)
		l.fleet.broke(l, err)
		if opened {
			backoff = minBackoff
		}
		if !l.pause(ctx, backoff) {
			return
		}
		longest := maxBackoff
		if l.clock.Since(started) < startingFor {
			longest = startingBackoff
		}
		backoff = min(2*backoff, longest)
	}
}

// pause waits between two attempts. Urgency shortens the wait, but never below minBackoff, so that
// a busy reconciler does not make a busy dialler.
func (l *link) pause(ctx context.Context, backoff time.Duration) bool {
	shortest := l.clock.NewTimer(minBackoff)
	defer shortest.Stop()
	longest := l.clock.NewTimer(backoff)
	defer longest.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-shortest.C():
	}
	select {
	case <-ctx.Done():
		return false
	case <-l.urgent:
		return true
	case <-longest.C():
		return true
	}
}

// serve connects and reads until the stream breaks; opened tells whether a record came through.
func (l *link) serve(ctx context.Context) (opened bool, err error) {
	conn, err := l.dialer.connect(ctx, l.target.Address)
	if err != nil {
		return false, fmt.Errorf("connect to agent at %s: %w", l.target.Address, err)
	}
	// Whatever ended the stream, the connection has no other use.
	defer func() { _ = conn.Close() }()
	l.conn = conn
	return l.stream(ctx, conn)
}

// stream opens the record stream on conn and reads it to its end.
func (l *link) stream(ctx context.Context, conn *http.ClientConn) (opened bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	mute := l.clock.AfterFunc(firstRecordTimeout, func() { cancel(errMute) })
	defer mute.Stop()
	// A request whose body is being sent does not look at its context: only the end of the connection
	// gets it out of a wait for the next echo.
	unhook := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unhook()

	echo := newEchoBody()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+l.target.Address+wire.PathStream, echo)
	if err != nil {
		return false, fmt.Errorf("build stream request: %w", err)
	}
	response, err := conn.RoundTrip(request)
	if err != nil {
		return false, fmt.Errorf("open stream: %w", causeOf(ctx, err))
	}
	// The stream ends with its connection; closing the body just lets go of it earlier.
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("open stream: %w", refusal(response))
	}
	err = l.read(response.Body, echo, func() { opened = mute.Stop() || opened })
	return opened, causeOf(ctx, err)
}

// read takes in records until the body ends, and echoes each one after it has been taken in. A record
// from before the epoch that is required is not echoed: an agent that was out of touch must not
// take the mere contact for the manager's word that its role still holds.
func (l *link) read(body io.Reader, echo *echoBody, accepted func()) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, recordSize), maxRecord)
	for lines.Scan() {
		record := new(wire.Record)
		if err := json.Unmarshal(lines.Bytes(), record); err != nil {
			return fmt.Errorf("decode record: %w", err)
		}
		if err := l.fleet.heard(l, record); err != nil {
			return err
		}
		accepted()
		if record.Epoch >= l.fleet.requiredEpoch(l) {
			echo.put(record.SentMono)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	return errEnded
}

// verify: an address may have passed to another pod, even of the same cluster, whose certificate
// is the same. Only the record tells.
func (l *link) verify(r *wire.Record) error {
	if r.PodUID != l.target.PodUID {
		return fmt.Errorf("agent at %s speaks for pod UID %q, not %q", l.target.Address, r.PodUID, l.target.PodUID)
	}
	if r.Cluster != l.target.ClusterUID {
		return fmt.Errorf("agent at %s speaks for cluster UID %q, not %q", l.target.Address, r.Cluster, l.target.ClusterUID)
	}
	return nil
}

// causeOf prefers the reason for which ctx was cancelled over the bare cancellation.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}
