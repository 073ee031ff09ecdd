package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

var errOneConnection = errors.New("the one connection of this client is used up")

// connection is one connection to one server. It never reconnects: WAIT speaks of the writes of
// its own connection, and a silent reconnect would confirm what another server never saw.
type connection struct {
	client *redis.Client
	conn   *redis.Conn
	// member is the server's own address.
	member string
}

// connect makes a connection and signs in with the first password that the server takes.
func connect(ctx context.Context, o Options) (*connection, error) {
	var err error
	for _, password := range o.Passwords {
		var c *connection
		c, err = signIn(ctx, o, password)
		if err == nil {
			return c, nil
		}
		if !mayTryNextPassword(err) {
			break
		}
	}
	return nil, err
}

func signIn(ctx context.Context, o Options, password string) (*connection, error) {
	dialing, cancel := context.WithTimeout(ctx, o.dialTimeout)
	defer cancel()
	socket, err := o.Dial(dialing, "tcp", o.Address)
	if err != nil {
		return nil, err
	}
	options := ClientOptions(o.Address, password)
	options.Dialer = once(socket)
	client := redis.NewClient(options)
	c := &connection{client: client, conn: client.Conn()}
	info, err := c.conn.ClientInfo(ctx).Result()
	if err != nil {
		c.close()
		return nil, fmt.Errorf("sign in: %w", err)
	}
	c.member = info.LAddr
	return c, nil
}

// ClientOptions of an impatient client that never retries.
func ClientOptions(address, password string) *redis.Options {
	return &redis.Options{
		Addr: address, Password: password, Protocol: 2, PoolSize: 1, MaxRetries: -1,
		DialTimeout: dialTimeout, DialerRetries: 1, DialerRetryTimeout: time.Nanosecond,
		ReadTimeout: replyTimeout, WriteTimeout: replyTimeout, ContextTimeoutEnabled: true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// once hands out a socket one single time.
func once(socket net.Conn) func(context.Context, string, string) (net.Conn, error) {
	sockets := make(chan net.Conn, 1)
	sockets <- socket
	return func(context.Context, string, string) (net.Conn, error) {
		select {
		case s := <-sockets:
			return s, nil
		default:
			return nil, errOneConnection
		}
	}
}

func (c *connection) close() {
	// The connection may be broken already, and nothing depends on its end.
	_ = c.conn.Close()
	_ = c.client.Close()
}

// confirm returns how many replicas have all writes of this connection.
func (c *connection) confirm(ctx context.Context) (int, error) {
	// By itself the client library gives a command that waits ten seconds more than it was asked for, in
	// which this client would neither notice a frozen server nor try the next one.
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	n, err := c.conn.Wait(ctx, 1, waitTimeout).Result()
	return int(n), err
}

func (c *connection) add(ctx context.Context, key string, id uint64) error {
	return c.conn.SAdd(ctx, key, id).Err()
}

// appendTo appends, and reads the list in the same transaction if asked through list.
func (c *connection) appendTo(ctx context.Context, key string, id uint64, list *[]uint64) error {
	if list == nil {
		return c.conn.RPush(ctx, key, id).Err()
	}
	var read *redis.StringSliceCmd
	_, err := c.conn.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		tx.RPush(ctx, key, id)
		read = tx.LRange(ctx, key, 0, -1)
		return nil
	})
	if err != nil {
		return err
	}
	*list, err = parseIDs(read.Val())
	return err
}

// hostOf is the host of an address, for people.
func hostOf(address string) string {
	host, _, ok := strings.Cut(address, ":")
	if !ok {
		return address
	}
	return host
}
