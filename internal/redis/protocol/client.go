package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options of a connection.
type Options struct {
	// Network and Address as in net.Dial: "unix" with a path, or "tcp" with host:port.
	Network, Address string
	User, Password   string
	// Timeout of each command and of each dial.
	Timeout time.Duration
}

// SilenceDriver stops the driver's own log, which is one for the whole process: every error
// reaches the caller as well.
func SilenceDriver() { logging.Disable() }

// client is a Server behind the driver.
type client struct{ rdb *redis.Client }

// Dial prepares a connection; it is made when the first command needs it, and again whenever it broke.
func Dial(o Options) Server {
	return &client{rdb: redis.NewClient(&redis.Options{
		Network:  o.Network,
		Addr:     o.Address,
		Username: o.User,
		Password: o.Password,
		Protocol: 2,
		// A command is sent once: the caller decides what a lost answer means.
		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           o.Timeout,
		ReadTimeout:           o.Timeout,
		WriteTimeout:          o.Timeout,
		ContextTimeoutEnabled: true,
		DisableIdentity:       true,
		// Small, since every member of every cluster carries one of these.
		MaxIdleConns:             2,
		Dialer:                   dialWhenThere(o.Timeout),
		ReadBufferSize:           4096,
		WriteBufferSize:          4096,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})}
}

// redialEvery is how often a server that starts is tried: its socket is there some milliseconds after its process.
const redialEvery = 5 * time.Millisecond

// dialWhenThere dials again until the server listens or the time is over. The driver itself would
// pause for a second after some failures.
func dialWhenThere(timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		var dialer net.Dialer
		ticks := time.NewTicker(redialEvery)
		defer ticks.Stop()
		for {
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				return conn, nil
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-ticks.C:
			}
		}
	}
}

// State implements Observer.
func (c *client) State(ctx context.Context) (State, error) {
	text, err := c.rdb.Info(ctx, "server", "clients", "memory", "persistence", "stats", "replication", "keyspace").Result()
	if err != nil {
		return State{}, explain("read the state", err)
	}
	return parseState(text), nil
}

// Follow implements Replication.
func (c *client) Follow(ctx context.Context, primary Address) error {
	port := strconv.Itoa(int(primary.Port))
	return explain("follow "+net.JoinHostPort(primary.Host, port), c.rdb.Do(ctx, "REPLICAOF", primary.Host, port).Err())
}

// Promote implements Replication.
func (c *client) Promote(ctx context.Context) error {
	return explain("promote", c.rdb.Do(ctx, "REPLICAOF", "NO", "ONE").Err())
}

// confirmChannel carries nothing and has no subscriber: publishing to it is the one thing that
// reaches the replicas also while writes are refused.
const confirmChannel = "__holdfast:confirm"

// Confirmed implements Replication. WAIT counts from what its own connection wrote last, so both go
// over the same one.
func (c *client) Confirmed(ctx context.Context, n int, within time.Duration) (int, error) {
	// The driver gives a command that waits ten seconds on top of its own time.
	ctx, cancel := context.WithTimeout(ctx, within+c.rdb.Options().ReadTimeout)
	defer cancel()
	conn := c.rdb.Conn()
	defer func() { _ = conn.Close() }()
	if err := conn.Publish(ctx, confirmChannel, "").Err(); err != nil {
		return 0, explain("reach the replicas", err)
	}
	confirmed, err := conn.Wait(ctx, n, within).Result()
	if err != nil {
		return 0, explain("wait for the replicas", err)
	}
	return int(confirmed), nil
}

// BeginHandOver implements Replication.
func (c *client) BeginHandOver(ctx context.Context, to Address, timeout time.Duration) error {
	order := "hand over to " + net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	return explain(order, c.rdb.Do(ctx, "FAILOVER", "TO", to.Host, to.Port, "TIMEOUT", timeout.Milliseconds()).Err())
}

// Swap implements Replication. FORCE makes the server go on when the time is over although the offsets
// differ: they do so by the question for a confirmation alone, which is counted and not confirmed.
func (c *client) Swap(ctx context.Context, to Address) error {
	order := "swap with " + net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	return explain(order, c.rdb.Do(ctx, "FAILOVER", "TO", to.Host, to.Port, "FORCE", "TIMEOUT", 1).Err())
}

// AbortHandOver implements Replication.
func (c *client) AbortHandOver(ctx context.Context) error {
	return explain("abort the hand-over", c.rdb.Do(ctx, "FAILOVER", "ABORT").Err())
}

// DisconnectClients implements Replication.
func (c *client) DisconnectClients(ctx context.Context) error {
	for _, kind := range []string{"normal", "pubsub"} {
		if err := c.rdb.Do(ctx, "CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes").Err(); err != nil {
			return explain("disconnect clients", err)
		}
	}
	return nil
}

// Shutdown implements Lifecycle.
func (c *client) Shutdown(ctx context.Context, data DataAtShutdown) error {
	args := []any{"SHUTDOWN"}
	if data == KeepFiles {
		args = append(args, "NOSAVE")
	}
	err := c.rdb.Do(ctx, args...).Err()
	// A server that obeys hangs up instead of answering.
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return explain("shut down", err)
}

// Close implements Lifecycle.
func (c *client) Close() error {
	if err := c.rdb.Close(); err != nil {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}
