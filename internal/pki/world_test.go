package pki_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/pki"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

const (
	serverName  = "shop.prod.agents.holdfast"
	propagation = 5 * time.Minute
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func input(m pki.Material) pki.Input {
	return pki.Input{Material: m, Name: "shop", ServerName: serverName, Propagation: propagation}
}

func plan(t *testing.T, now time.Time, in pki.Input) pki.Result {
	t.Helper()
	r, err := pki.Plan(now, in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// steady is a cluster whose authority is in force everywhere.
func steady(t *testing.T) pki.Material {
	t.Helper()
	return plan(t, start, input(pki.Material{})).Material
}

func clone(m pki.Material) pki.Material {
	return pki.Material{Authority: maps.Clone(m.Authority), Agents: maps.Clone(m.Agents)}
}

// managerConfig is how a manager that sees m connects at now.
func managerConfig(now time.Time, m pki.Material) (*tls.Config, error) {
	client, err := pki.NewClientTLS(m, serverName)
	if err != nil {
		return nil, err
	}
	config, err := client.Config(now)
	if err != nil {
		return nil, err
	}
	return at(now, config), nil
}

// at makes a configuration judge certificates by another time than the present.
func at(now time.Time, config *tls.Config) *tls.Config {
	config = config.Clone()
	config.Time = func() time.Time { return now }
	return config
}

// agentServer and agentClient are what an agent does with the Secret that it sees.
func agentServer(now time.Time, agents map[string][]byte) (*tls.Config, error) {
	pair, roots, err := agentMaterial(agents)
	if err != nil {
		return nil, err
	}
	return at(now, &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}), nil
}

func agentClient(now time.Time, agents map[string][]byte) (*tls.Config, error) {
	pair, roots, err := agentMaterial(agents)
	if err != nil {
		return nil, err
	}
	return at(now, &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: serverName,
	}), nil
}

func agentMaterial(agents map[string][]byte) (tls.Certificate, *x509.CertPool, error) {
	pair, err := tls.X509KeyPair(agents[pki.KeyLeafCertificate], agents[pki.KeyLeafKey])
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(agents[pki.KeyBundle]) {
		return tls.Certificate{}, nil, errors.New("an empty bundle")
	}
	return pair, roots, nil
}

// handshake lets both sides finish a real handshake and exchange a byte, since in TLS 1.3 a client
// only learns with the first byte whether its certificate was accepted. It returns whom the server saw.
func handshake(client, server *tls.Config) (string, error) {
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	type seen struct {
		name string
		err  error
	}
	done := make(chan seen, 1)
	go func() {
		conn := tls.Server(far, server)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = far.Close()
			done <- seen{err: err}
			return
		}
		_, err := conn.Write([]byte("x"))
		done <- seen{name: conn.ConnectionState().PeerCertificates[0].Subject.CommonName, err: err}
	}()
	conn := tls.Client(near, client)
	err := conn.HandshakeContext(ctx)
	if err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	// The server may be waiting for the rest of a handshake that the client gave up.
	_ = near.Close()
	served := <-done
	return served.name, errors.Join(err, served.err)
}

// managerReaches says why a manager that sees m and an agent that sees agents do not connect.
func managerReaches(now time.Time, m pki.Material, agents map[string][]byte) error {
	client, err := managerConfig(now, m)
	if err != nil {
		return err
	}
	server, err := agentServer(now, agents)
	if err != nil {
		return err
	}
	name, err := handshake(client, server)
	if err != nil {
		return err
	}
	if name != wire.CommonNameManager {
		return errors.New("the agent took the manager for " + name)
	}
	return nil
}

// peersReach says why one agent cannot call another.
func peersReach(now time.Time, from, to map[string][]byte) error {
	client, err := agentClient(now, from)
	if err != nil {
		return err
	}
	server, err := agentServer(now, to)
	if err != nil {
		return err
	}
	_, err = handshake(client, server)
	return err
}
