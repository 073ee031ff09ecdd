package load

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

// client does one operation after another, at its pace.
type client struct {
	number  int
	options Options
	kind    history.Kind
	conn    *connection
	// done counts the operations: all of them, and those of this connection.
	done, onConnection int
}

func newClient(number int, o Options) *client {
	kind := history.KindAdd
	if number >= o.Adders {
		kind = history.KindAppend
	}
	return &client{number: number, options: o, kind: kind}
}

func (c *client) run(ctx context.Context) {
	defer c.disconnect()
	ticker := time.NewTicker(c.options.Pace)
	defer ticker.Stop()
	for {
		if !c.step(ctx) {
			pause(ctx, backoff)
		}
		select {
		case <-ctx.Done():
			return
		default:
		}
		if c.conn == nil {
			continue // After an error the next attempt does not wait for the pace.
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// step connects if needed and does one operation. It returns false after an error.
func (c *client) step(ctx context.Context) bool {
	if limit := c.options.Reconnect; limit > 0 && c.onConnection >= limit {
		c.disconnect()
	}
	if c.conn == nil {
		called := c.options.History.Now()
		conn, err := connect(ctx, c.options)
		if err != nil {
			if ctx.Err() == nil {
				c.options.History.Add(history.Event{Client: c.number, Kind: history.KindConnect, Call: called,
					Return: c.options.History.Now(), Outcome: history.Fail, Text: err.Error()})
			}
			return false
		}
		c.conn, c.onConnection = conn, 0
	}
	// The end of the load must not cut an operation in two: its answer would be unknown for no reason.
	return c.operate(context.WithoutCancel(ctx))
}

func (c *client) operate(ctx context.Context) bool {
	h := c.options.History
	e := history.Event{Client: c.number, Kind: c.kind, ID: h.NextID(), Member: c.conn.member, Call: h.Now()}
	err := c.write(ctx, &e)
	e.Return = h.Now()
	e.Outcome, e.Text = outcomeOf(err), textOf(err)
	if err == nil {
		var replicas int
		if replicas, err = c.conn.confirm(ctx); err == nil && replicas > 0 {
			e.Replicas, e.ConfirmedAt = replicas, h.Now()
		}
		if err != nil {
			e.Text = "confirm: " + err.Error()
		}
	}
	h.Add(e)
	c.done++
	c.onConnection++
	if err != nil {
		c.disconnect()
		return false
	}
	return true
}

func (c *client) write(ctx context.Context, e *history.Event) error {
	if c.kind == history.KindAdd {
		e.Key = c.options.Layout.Set(e.ID)
		return c.conn.add(ctx, e.Key, e.ID)
	}
	e.Key = c.options.Layout.List(e.ID)
	if c.done%readEvery != 0 {
		return c.conn.appendTo(ctx, e.Key, e.ID, nil)
	}
	return c.conn.appendTo(ctx, e.Key, e.ID, &e.List)
}

func (c *client) disconnect() {
	if c.conn != nil {
		c.conn.close()
		c.conn = nil
	}
}
