package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/pki"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// idleEngine is an engine whose server is a process that waits to be told to go.
type idleEngine struct {
	dir string

	mu     sync.Mutex
	role   wire.Role
	fences int
}

func (e *idleEngine) stopFile() string { return filepath.Join(e.dir, "stop") }

func (e *idleEngine) setRole(r wire.Role) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.role = r
}

func (e *idleEngine) Inspect(context.Context) (agent.Observation, error) {
	return agent.Observation{}, nil
}

func (e *idleEngine) Prepare(context.Context, wire.Assignment) (agent.Command, error) {
	if err := os.Remove(e.stopFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return agent.Command{}, err
	}
	e.setRole(wire.RoleHeld)
	return agent.Command{Path: "/bin/sh", Args: []string{"-c", `while [ ! -e stop ]; do sleep 0.02; done`}, Dir: e.dir}, nil
}

func (e *idleEngine) Observe(context.Context, int64) (agent.Observation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return agent.Observation{Loaded: true, Serving: true, Role: e.role, Material: string(e.role), Facts: json.RawMessage(`{}`)}, nil
}

func (e *idleEngine) Stop(context.Context) error { return os.WriteFile(e.stopFile(), nil, 0o600) }

func (e *idleEngine) Apply(_ context.Context, a wire.Assignment) error {
	e.setRole(a.Role)
	return nil
}

func (e *idleEngine) HandOver(context.Context, wire.HandOver) error {
	e.setRole(wire.RoleReplica)
	return nil
}

func (e *idleEngine) Fence(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fences++
	return nil
}

// fenced says how often the primary was made to refuse writes.
func (e *idleEngine) fenced() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fences
}

// realMember is a real agent on loopback with the credentials of a real plan.
type realMember struct {
	member fleet.Member
	engine *idleEngine
	tls    *pki.ClientTLS
	stop   context.CancelFunc
	done   chan error
}

func startRealMember(t *testing.T) *realMember {
	t.Helper()
	plan, err := pki.Plan(time.Now(), pki.Input{Name: "shop", ServerName: serverName, Propagation: pki.DefaultPropagation})
	if err != nil {
		t.Fatal(err)
	}
	client, err := pki.NewClientTLS(plan.Material, serverName)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for key, value := range plan.Material.Agents {
		if err := os.WriteFile(filepath.Join(dir, key), value, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificates, err := agent.LoadCertificates(dir, serverName)
	if err != nil {
		t.Fatal(err)
	}
	m := &realMember{tls: client, engine: &idleEngine{dir: t.TempDir()}, done: make(chan error, 1)}
	orders := loopback(t)
	m.member = fleet.Member{
		Namespace: shop.Namespace, Cluster: shop.Name, ClusterUID: clusterUID,
		Pod: "shop-0", PodUID: "uid-of-shop-0", Address: orders.Addr().String(),
	}
	a, err := agent.New(agent.Options{
		Identity: agent.Identity{Version: "test", Instance: "one", Pod: m.member.Pod, PodUID: m.member.PodUID, Cluster: clusterUID},
		Engine:   m.engine, Orders: orders, Probes: loopback(t), TLS: certificates,
		StateDir: t.TempDir(), Relief: time.Second, Output: t.Output(), Logger: slog.New(slog.DiscardHandler), Clock: agent.NewClock(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	go func() { m.done <- a.Run(ctx) }()
	t.Cleanup(stop)
	return m
}

func loopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lead runs a fleet until the returned function is called.
func (m *realMember) lead(t *testing.T) (*fleet.Fleet, func()) {
	t.Helper()
	f := fleet.New(fleet.Options{Wake: func(types.NamespacedName) {}})
	f.Sync(shop, fleet.Target{Members: []fleet.Member{m.member}, TLS: m.tls, Detection: 3 * time.Second})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Start(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Start returned %v", err)
		}
	})
	t.Cleanup(stop)
	return f, stop
}

// until polls the contact of the one member.
func until(t *testing.T, f *fleet.Fleet, what string, holds func(fleet.Contact) bool) fleet.Contact {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		contacts := f.Contacts(shop)
		if len(contacts) == 1 && contacts[0].Record != nil && holds(contacts[0]) {
			return contacts[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come true: %+v", what, contacts)
		}
		time.Sleep(5 * time.Millisecond) // until the contact holds
	}
}

// lease is an assignment as primary whose lease only the manager can prolong: its one peer does
// not exist.
func lease(epoch int64) wire.Assignment {
	return wire.Assignment{
		Cluster: clusterUID, Epoch: epoch, Role: wire.RolePrimary, LeasePeers: 1,
		Peers: []wire.PeerAddress{{Pod: "shop-1", Host: "127.0.0.1", Port: 1}},
		Lease: 2500 * time.Millisecond, Isolation: time.Minute,
	}
}

func TestARealAgentUnderstandsTheFleet(t *testing.T) {
	t.Parallel()
	m := startRealMember(t)
	f, _ := m.lead(t)
	until(t, f, "waiting for an assignment", func(c fleet.Contact) bool { return c.Record.Server.Phase == wire.ServerWaiting })

	if _, err := f.Assign(t.Context(), m.member, lease(1)); err != nil {
		t.Fatal(err)
	}
	digest, err := lease(1).Digest()
	if err != nil {
		t.Fatal(err)
	}
	until(t, f, "running as primary", func(c fleet.Contact) bool {
		return c.Record.Server.Phase == wire.ServerRunning && c.Record.AssignmentDigest == digest
	})

	var refused *fleet.RefusedError
	_, err = f.Assign(t.Context(), m.member, wire.Assignment{Cluster: clusterUID, Epoch: 0, Role: wire.RoleHeld})
	if !errors.As(err, &refused) || refused.Code != wire.CodeStaleEpoch || refused.Epoch != 1 {
		t.Errorf("an order of an old epoch: %v", err)
	}
	_, err = f.Kill(t.Context(), m.member, wire.Kill{Cluster: "another", Epoch: 9})
	if !errors.As(err, &refused) || refused.Code != wire.CodeWrongCluster {
		t.Errorf("an order for another cluster: %v", err)
	}
	if _, err := f.Refresh(t.Context(), m.member); err != nil {
		t.Errorf("refresh: %v", err)
	}

	record, err := f.Kill(t.Context(), m.member, wire.Kill{Cluster: clusterUID, Epoch: 2, Reason: "test"})
	if err != nil || record.Server.Phase != wire.ServerDown || record.Server.KilledEpoch != 2 {
		t.Errorf("kill: %v, server %+v", err, record.Server)
	}

	m.stop()
	if err := <-m.done; err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	until(t, f, "the last record", func(c fleet.Contact) bool { return c.Record.Final && !c.Connected })
}

// The lease of a real primary lives on the fleet's echoes, ends with them, and comes back.
func TestEchoesKeepTheLeaseOfARealPrimary(t *testing.T) {
	t.Parallel()
	m := startRealMember(t)
	f, stop := m.lead(t)
	until(t, f, "connection", func(c fleet.Contact) bool { return c.Connected })
	if _, err := f.Assign(t.Context(), m.member, lease(1)); err != nil {
		t.Fatal(err)
	}
	running := until(t, f, "running", func(c fleet.Contact) bool { return c.Record.Server.Phase == wire.ServerRunning })
	until(t, f, "more time than a lease", func(c fleet.Contact) bool {
		return c.Record.SentMono-running.Record.SentMono > int64(lease(1).Lease*5/4)
	})
	if n := m.engine.fenced(); n > 0 {
		t.Fatalf("the primary was fenced %d times while the fleet was in touch", n)
	}

	stop()
	deadline := time.Now().Add(15 * time.Second)
	for m.engine.fenced() == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the primary was never fenced, though nobody was in touch")
		}
		time.Sleep(5 * time.Millisecond) // until the lease has run out unheard
	}
	second, _ := m.lead(t)
	lifted := until(t, second, "the next leader's echoes lift the fence", func(c fleet.Contact) bool { return !c.Record.WritesFenced })
	if lifted.Record.Epoch != 1 {
		t.Errorf("lifted in epoch %d, want the same one", lifted.Record.Epoch)
	}
}
