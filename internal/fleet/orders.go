package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// OrderTimeout bounds an order whose context has no deadline. A hand-over gets its own timeout in
// addition.
const OrderTimeout = 2 * time.Second

// order is a request on a member's connection. It is sent once: whether to give it again is
// decided from the next record, never here.
type order struct {
	method  string
	path    string
	body    any
	timeout time.Duration
}

// Assign hands an assignment to a member and returns its record after the assignment was applied.
// It fills in HeardMono, which only the fleet knows.
func (f *Fleet) Assign(ctx context.Context, m Member, a wire.Assignment) (wire.Record, error) {
	a.HeardMono = f.heardMono(m)
	r, err := f.order(ctx, m, order{method: http.MethodPut, path: wire.PathAssignment, body: a})
	if err != nil {
		return wire.Record{}, fmt.Errorf("assign %s to %s: %w", a.Role, m.Pod, err)
	}
	return r, nil
}

// HandOver makes a primary give its role to another member.
func (f *Fleet) HandOver(ctx context.Context, m Member, h wire.HandOver) (wire.Record, error) {
	r, err := f.order(ctx, m, order{method: http.MethodPost, path: wire.PathHandOver, body: h, timeout: h.Timeout})
	if err != nil {
		return wire.Record{}, fmt.Errorf("hand over from %s to %s: %w", m.Pod, h.To.Pod, err)
	}
	return r, nil
}

// Kill makes a member's agent kill its server; when it returns without an error the server is dead.
func (f *Fleet) Kill(ctx context.Context, m Member, k wire.Kill) (wire.Record, error) {
	r, err := f.order(ctx, m, order{method: http.MethodPost, path: wire.PathKill, body: k})
	if err != nil {
		return wire.Record{}, fmt.Errorf("kill server of %s: %w", m.Pod, err)
	}
	return r, nil
}

// Refresh asks a member for a record read at this moment.
func (f *Fleet) Refresh(ctx context.Context, m Member) (wire.Record, error) {
	r, err := f.order(ctx, m, order{method: http.MethodPost, path: wire.PathRefresh})
	if err != nil {
		return wire.Record{}, fmt.Errorf("refresh record of %s: %w", m.Pod, err)
	}
	return r, nil
}

func (f *Fleet) order(ctx context.Context, m Member, o order) (wire.Record, error) {
	l, conn, err := f.connection(m)
	if err != nil {
		return wire.Record{}, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, OrderTimeout+o.timeout)
		defer cancel()
	}
	request, err := o.request(ctx, l.target.Address)
	if err != nil {
		return wire.Record{}, err
	}
	response, err := conn.RoundTrip(request)
	if err != nil {
		return wire.Record{}, fmt.Errorf("call agent: %w", err)
	}
	// The answer has been read by then; closing only lets go of it.
	defer func() { _ = response.Body.Close() }()
	record, err := decodeAnswer(response)
	if err != nil {
		return wire.Record{}, err
	}
	if err := l.verify(record); err != nil {
		return wire.Record{}, err
	}
	f.answered(l, conn, record)
	return *record, nil
}

// heardMono of a member that is not connected is 0; the order then fails for want of a stream.
func (f *Fleet) heardMono(m Member) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clusters[m.cluster()]
	if c == nil {
		return 0
	}
	state := c.byPodUID[m.PodUID]
	if state == nil || state.conn == nil {
		return 0
	}
	return state.record.SentMono
}

func (f *Fleet) connection(m Member) (*link, *http.ClientConn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clusters[m.cluster()]
	if c == nil || c.byPodUID[m.PodUID] == nil {
		return nil, nil, ErrUnknownMember
	}
	state := c.byPodUID[m.PodUID]
	if state.conn == nil {
		return nil, nil, ErrNotConnected
	}
	return state.link, state.conn, nil
}

// answered takes in the record of an answer, unless the connection it came over is no longer the
// member's: a newer one may have told more by now.
func (f *Fleet) answered(l *link, conn *http.ClientConn, r *wire.Record) {
	f.mu.Lock()
	current := l.member.link == l && l.member.conn == conn
	changed := current && l.member.observe(r, f.options.Clock.Now())
	f.mu.Unlock()
	if changed {
		f.wake(l)
	}
}

func (o order) request(ctx context.Context, address string) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if o.body != nil {
		encoded, err := json.Marshal(o.body)
		if err != nil {
			return nil, fmt.Errorf("encode order: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, o.method, "https://"+address+o.path, body)
	if err != nil {
		return nil, fmt.Errorf("build order: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

func decodeAnswer(response *http.Response) (*wire.Record, error) {
	if response.StatusCode >= http.StatusBadRequest {
		return nil, refusal(response)
	}
	record := new(wire.Record)
	if err := json.NewDecoder(io.LimitReader(response.Body, maxRecord)).Decode(record); err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	return record, nil
}

// refusal reads the error of an answer. An answer that is no wire.Error comes from something that
// is no agent of ours, or from one that is broken.
func refusal(response *http.Response) error {
	var e wire.Error
	err := json.NewDecoder(io.LimitReader(response.Body, maxRecord)).Decode(&e)
	if err != nil || e.Code == "" {
		return fmt.Errorf("agent answered %s", response.Status)
	}
	return &RefusedError{Code: e.Code, Epoch: e.Epoch, Message: e.Message}
}
