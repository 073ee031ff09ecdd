package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// peerCallWithin bounds one call to a peer.
const peerCallWithin = time.Second

// peerCalls calls every peer each heartbeat, independently of one another: one that hangs delays
// no other.
type peerCalls struct {
	agent   *Agent
	running map[wire.PeerAddress]peerCall
}

// peerCall is what calls one peer: once for each pulse.
type peerCall struct {
	pulse  chan struct{}
	cancel context.CancelFunc
}

func newPeerCalls(a *Agent) *peerCalls {
	return &peerCalls{agent: a, running: map[wire.PeerAddress]peerCall{}}
}

// set makes the list the peers that are called. It runs on the loop.
func (c *peerCalls) set(list []wire.PeerAddress) {
	wanted := make(map[wire.PeerAddress]bool, len(list))
	for _, p := range list {
		wanted[p] = true
		if _, ok := c.running[p]; ok {
			continue
		}
		ctx, cancel := context.WithCancel(c.agent.ctx)
		call := peerCall{pulse: make(chan struct{}, 1), cancel: cancel}
		c.running[p] = call
		c.agent.goes(func() { c.agent.callPeer(ctx, p, call.pulse) })
	}
	for p, call := range c.running {
		if !wanted[p] {
			call.cancel()
			delete(c.running, p)
		}
	}
}

// beat has every peer called. One that still hangs from the call before is not called twice. It runs
// on the loop.
func (c *peerCalls) beat() {
	for _, call := range c.running {
		wake(call.pulse)
	}
}

// callPeer calls one peer, now and at each pulse, until ctx ends.
func (a *Agent) callPeer(ctx context.Context, p wire.PeerAddress, pulse <-chan struct{}) {
	transport := peerTransport(a.opt.TLS)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	url := "https://" + net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))) + wire.PathPeer
	for {
		if err := a.callOnce(ctx, client, url); err != nil {
			// The next call must not queue behind a connection that leads nowhere.
			transport.CloseIdleConnections()
			a.opt.Logger.Debug("call a peer", "peer", p.Pod, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-pulse:
		}
	}
}

func peerTransport(certificates *Certificates) *http.Transport {
	dialer := &net.Dialer{Timeout: peerCallWithin}
	return &http.Transport{
		// The certificates may have been replaced since the last connection.
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return (&tls.Dialer{NetDialer: dialer, Config: certificates.client()}).DialContext(ctx, network, address)
		},
		ForceAttemptHTTP2: true,
		MaxIdleConns:      1,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerConnection: 1 << 17,
			MaxReceiveBufferPerStream:     1 << 16,
		},
	}
}

func (a *Agent) callOnce(ctx context.Context, client *http.Client, url string) error {
	var greeting wire.Peer
	var sent time.Duration
	err := a.do(ctx, func() { greeting, sent = a.greeting(), a.opt.Clock.Now() })
	if err != nil {
		return err
	}
	answer, err := exchange(ctx, client, url, greeting)
	if err != nil {
		return err
	}
	if answer.Cluster != greeting.Cluster {
		return fmt.Errorf("the peer belongs to cluster %s", answer.Cluster)
	}
	a.post(func() { a.m.contacts.peerAnswered(answer, sent, a.m.epochs.Seen) })
	return nil
}

func exchange(ctx context.Context, client *http.Client, url string, greeting wire.Peer) (wire.Peer, error) {
	ctx, cancel := context.WithTimeout(ctx, peerCallWithin)
	defer cancel()
	body, err := json.Marshal(greeting)
	if err != nil {
		return wire.Peer{}, fmt.Errorf("encode the greeting: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return wire.Peer{}, fmt.Errorf("address the peer: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return wire.Peer{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return wire.Peer{}, fmt.Errorf("the peer answered %s", response.Status)
	}
	var answer wire.Peer
	if err := json.NewDecoder(http.MaxBytesReader(nil, response.Body, maxBody)).Decode(&answer); err != nil {
		return wire.Peer{}, fmt.Errorf("read the peer's answer: %w", err)
	}
	return answer, nil
}
