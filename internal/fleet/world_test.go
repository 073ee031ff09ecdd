package fleet_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/pki"
	"github.com/holdfast-dev/holdfast/internal/testkit/fakeagent"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

const (
	detection  = 1 * time.Second
	serverName = "shop.prod.agents.holdfast"
	clusterUID = "cluster-uid"
)

var shop = shopOf("prod")

func shopOf(namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: "shop"}
}

// world is a fleet, a network and some agents inside a synctest bubble.
type world struct {
	t       *testing.T
	network *network
	fleet   *fleet.Fleet
	tls     *pki.ClientTLS
	server  *tls.Config
	target  fleet.Target

	mu    sync.Mutex
	wakes []time.Time
}

// inWorld runs a scenario in fake time with a started fleet.
func inWorld(t *testing.T, scenario func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.fleet.Start(ctx) }()
		synctest.Wait()
		scenario(t, w)
		stop()
		if err := <-done; err != nil {
			t.Errorf("Start returned %v", err)
		}
	})
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, network: newNetwork()}
	w.tls, w.server = credentials(t)
	w.target = fleet.Target{TLS: w.tls, Detection: detection}
	w.fleet = fleet.New(fleet.Options{Dial: w.network.dial, Wake: w.wake})
	return w
}

// credentials of a fresh cluster: the manager's and the agents'.
func credentials(t *testing.T) (*pki.ClientTLS, *tls.Config) {
	t.Helper()
	plan, err := pki.Plan(time.Now(), pki.Input{Name: "shop", ServerName: serverName, Propagation: pki.DefaultPropagation})
	if err != nil {
		t.Fatal(err)
	}
	client, err := pki.NewClientTLS(plan.Material, serverName)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(plan.Material.Agents[pki.KeyLeafCertificate], plan.Material.Agents[pki.KeyLeafKey])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(plan.Material.Agents[pki.KeyBundle])
	return client, &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{certificate},
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}
}

func (w *world) wake(types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakes = append(w.wakes, time.Now())
}

// newWakes are the wake-ups since the last call.
func (w *world) newWakes() []time.Time {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	wakes := w.wakes
	w.wakes = nil
	return wakes
}

func (w *world) wantWakes(n int, why string) {
	w.t.Helper()
	if got := w.newWakes(); len(got) != n {
		w.t.Errorf("%s: woken %d times, want %d", why, len(got), n)
	}
}

// pass lets fake time go by; nothing really sleeps.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func member(pod string) fleet.Member {
	return fleet.Member{
		Namespace: shop.Namespace, Cluster: shop.Name, ClusterUID: clusterUID,
		Pod: pod, PodUID: "uid-of-" + pod, Address: pod + ":8443",
	}
}

func record(m fleet.Member) wire.Record {
	return wire.Record{
		AgentInstance: "first", PodUID: m.PodUID, Cluster: m.ClusterUID, Material: 1,
		Server: wire.Server{Phase: wire.ServerRunning, Instance: 1},
	}
}

// agent starts a fake agent for a member, with changes to its options.
func (w *world) agent(m fleet.Member, alter ...func(*fakeagent.Options)) *fakeagent.Agent {
	w.t.Helper()
	options := fakeagent.Options{TLS: w.server, Record: record(m), Heartbeat: wire.HeartbeatInterval}
	for _, a := range alter {
		a(&options)
	}
	a := fakeagent.New(options)
	l := w.network.listen(m.Address)
	go func() {
		if err := a.Serve(l); err != nil {
			w.t.Errorf("fake agent of %s: %v", m.Pod, err)
		}
	}()
	w.t.Cleanup(func() { w.close(a) })
	return a
}

func (w *world) close(a *fakeagent.Agent) {
	w.t.Helper()
	if err := a.Close(); err != nil {
		w.t.Errorf("close fake agent: %v", err)
	}
}

func (w *world) sync(members ...fleet.Member) {
	w.target.Members = members
	w.fleet.Sync(shop, w.target)
	synctest.Wait()
}

// contact of the one member.
func (w *world) contact() fleet.Contact {
	w.t.Helper()
	contacts := w.fleet.Contacts(shop)
	if len(contacts) != 1 {
		w.t.Fatalf("%d contacts, want 1: %+v", len(contacts), contacts)
	}
	return contacts[0]
}
