package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// dialTimeout for TCP and TLS together. Short, because a fresh attempt reaches a healed
	// network sooner than a SYN that is repeated ever more rarely.
	dialTimeout = 2 * time.Second
	// pingAfter without a frame the connection is tried, and closed after pingTimeout without an
	// answer. Heartbeats come far more often, so that a steady stream carries no pings.
	pingAfter   = 1500 * time.Millisecond
	pingTimeout = 1500 * time.Millisecond
	// writeTimeout for a peer that stopped reading.
	writeTimeout = 3 * time.Second
	// readFrame and readWindow bound what an agent can make the manager hold.
	readFrame  = 16 << 10
	readWindow = 256 << 10
)

var errNoTLS = errors.New("no credentials for the cluster's agents")

// dialer opens connections to the agents of one cluster. Its transport is shared by them, and
// carries no connection itself: each link owns its own.
type dialer struct {
	dial      DialFunc
	clock     clock.PassiveClock
	transport *http.Transport

	mu  sync.Mutex
	tls TLSSource
}

func newDialer(dial DialFunc, clk clock.PassiveClock) *dialer {
	d := &dialer{dial: dial, clock: clk}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	d.transport = &http.Transport{
		DialTLSContext:     d.dialTLS,
		DisableCompression: true,
		Protocols:          protocols,
		HTTP2: &http.HTTP2Config{
			MaxReadFrameSize:              readFrame,
			MaxReceiveBufferPerConnection: readWindow,
			MaxReceiveBufferPerStream:     readWindow,
			SendPingTimeout:               pingAfter,
			PingTimeout:                   pingTimeout,
			WriteByteTimeout:              writeTimeout,
		},
	}
	return d
}

func (d *dialer) setTLS(source TLSSource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tls = source
}

func (d *dialer) connect(ctx context.Context, address string) (*http.ClientConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return d.transport.NewClientConn(ctx, "https", address)
}

func (d *dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	config, err := d.config()
	if err != nil {
		return nil, err
	}
	raw, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		// The handshake has failed; that closing fails too says nothing more.
		_ = raw.Close()
		return nil, fmt.Errorf("TLS with agent: %w", err)
	}
	return conn, nil
}

// config is never nil without an error: no credentials means no connection, not a plain one.
func (d *dialer) config() (*tls.Config, error) {
	d.mu.Lock()
	source := d.tls
	d.mu.Unlock()
	if source == nil {
		return nil, errNoTLS
	}
	config, err := source.Config(d.clock.Now())
	if err != nil {
		return nil, fmt.Errorf("credentials for the cluster's agents: %w", err)
	}
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	return config, nil
}
