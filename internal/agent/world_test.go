package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/agent/exposition"
	"github.com/holdfast-dev/holdfast/internal/pki"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

const serverName = "shop.prod.agents.holdfast"

// fakeEngine is an engine whose server is a process that sleeps.
type fakeEngine struct {
	mu       sync.Mutex
	command  Command
	state    Observation
	calls    []string
	hang     map[string]chan struct{}
	fail     map[string]error
	onApply  func()
	hasEnded bool
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{
		command: Command{Path: "/bin/sleep", Args: []string{"1000"}},
		hang:    map[string]chan struct{}{}, fail: map[string]error{},
	}
}

// call notes a call and does what the test wants of it.
func (e *fakeEngine) call(ctx context.Context, name string) error {
	e.mu.Lock()
	e.calls = append(e.calls, name)
	hang, err := e.hang[name], e.fail[name]
	e.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func (e *fakeEngine) count(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, c := range e.calls {
		if c == name {
			n++
		}
	}
	return n
}

func (e *fakeEngine) set(change func(e *fakeEngine)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e)
}

func (e *fakeEngine) Inspect(context.Context) (Observation, error) {
	return Observation{Facts: json.RawMessage(`{"inspected":true}`)}, nil
}

func (e *fakeEngine) Prepare(ctx context.Context, _ wire.Assignment) (Command, error) {
	err := e.call(ctx, "Prepare")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = Observation{Loaded: true, Role: wire.RoleHeld}
	return e.command, err
}

func (e *fakeEngine) Observe(ctx context.Context, _ int64) (Observation, error) {
	if err := e.call(ctx, "Observe"); err != nil {
		return Observation{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.state
	o.Material, o.Facts = string(o.Role), json.RawMessage(`{"role":"`+string(o.Role)+`"}`)
	return o, nil
}

func (e *fakeEngine) Stop(ctx context.Context) error { return e.call(ctx, "Stop") }

func (e *fakeEngine) Apply(ctx context.Context, a wire.Assignment) error {
	e.mu.Lock()
	onApply := e.onApply
	e.mu.Unlock()
	if onApply != nil {
		onApply()
	}
	if err := e.call(ctx, "Apply "+string(a.Role)); err != nil {
		return err
	}
	e.set(func(e *fakeEngine) {
		e.state = Observation{Loaded: true, Role: a.Role, Serving: a.Role != wire.RoleHeld}
	})
	return nil
}

func (e *fakeEngine) HandOver(ctx context.Context, _ wire.HandOver) error {
	if err := e.call(ctx, "HandOver"); err != nil {
		return err
	}
	e.set(func(e *fakeEngine) { e.state = Observation{Loaded: true, Role: wire.RoleReplica} })
	return nil
}

func (e *fakeEngine) Fence(ctx context.Context) error { return e.call(ctx, "Fence") }

// rig is an agent in this process on a fake engine, and the manager's client.
type rig struct {
	*testing.T
	engine   *fakeEngine
	stateDir string
	tlsDir   string
	client   *pki.ClientTLS
	url      string
	probes   string
	http     *http.Client
	stop     context.CancelFunc
	ended    chan error
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, engine: newFakeEngine(), stateDir: filepath.Join(t.TempDir(), ".holdfast"), ended: make(chan error, 1)}
	r.client, r.tlsDir = newAuthority(t)
	certificates, err := LoadCertificates(r.tlsDir, serverName)
	if err != nil {
		t.Fatal(err)
	}
	orders, probes := loopback(t), loopback(t)
	a, err := New(Options{
		Identity: Identity{Version: "test", Instance: "i", Pod: "me", PodUID: "uid", Cluster: cluster},
		Engine:   r.engine, Orders: orders, Probes: probes, TLS: certificates, StateDir: r.stateDir, Relief: 200 * time.Millisecond,
		Output: io.Discard, Metrics: func() []exposition.Family { return nil },
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Clock: NewClock(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.ended <- a.Run(ctx) }()
	t.Cleanup(r.end)
	r.url, r.probes = "https://"+orders.Addr().String(), "http://"+probes.Addr().String()
	r.http = r.as(r.managerTLS())
	return r
}

// end stops the agent. The fake engine does not stop a server, so that the agent must kill it.
func (r *rig) end() {
	r.engine.set(func(e *fakeEngine) {
		if !e.hasEnded {
			e.fail["Stop"] = errors.New("no server would stop")
			e.hasEnded = true
		}
		clear(e.hang)
	})
	r.stop()
	select {
	case err := <-r.ended:
		r.ended <- err
		if err != nil {
			r.Errorf("the agent ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		r.Error("the agent did not end")
	}
}

// newAuthority makes a cluster's authority: the manager's side, and a directory with the agents'.
func newAuthority(t *testing.T) (*pki.ClientTLS, string) {
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
	writeAgentFiles(t, dir, plan.Material)
	return client, dir
}

func writeAgentFiles(t *testing.T, dir string, m pki.Material) {
	t.Helper()
	for _, file := range []string{"ca.crt", "tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(dir, file), m.Agents[file], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func loopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (r *rig) managerTLS() *tls.Config {
	r.Helper()
	config, err := r.client.Config(time.Now())
	if err != nil {
		r.Fatal(err)
	}
	return config
}

func (r *rig) as(config *tls.Config) *http.Client {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	r.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

// send gives an order and decodes the answer into a record.
func (r *rig) send(method, path string, body any) (wire.Record, error) {
	var record wire.Record
	return record, r.exchange(r.http, request{method, path, body}, &record)
}

type request struct {
	method, path string
	body         any
}

func (r *rig) exchange(client *http.Client, q request, answer any) error {
	encoded, err := json.Marshal(q.body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(q.method, r.url+q.path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		refusal := &Refusal{Status: response.StatusCode}
		return errors.Join(refusal, json.NewDecoder(response.Body).Decode(&refusal.Answer))
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

func refusedWith(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Answer.Code
	}
	return ""
}

// record reads a fresh record.
func (r *rig) record() wire.Record {
	r.Helper()
	record, err := r.send(http.MethodPost, wire.PathRefresh, nil)
	if err != nil {
		r.Fatal(err)
	}
	return record
}

// until polls records.
func (r *rig) until(what string, is func(wire.Record) bool) wire.Record {
	r.Helper()
	var last wire.Record
	await(r.T, what, func() bool { last = r.record(); return is(last) })
	return last
}

// alone is an assignment without peers.
func alone(role wire.Role, epoch int64) wire.Assignment {
	a := assignment(role, epoch)
	a.Peers, a.LeasePeers = nil, 0
	return a
}

func (r *rig) assign(a wire.Assignment) wire.Record {
	r.Helper()
	digest, err := a.Digest()
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.send(http.MethodPut, wire.PathAssignment, a); err != nil {
		r.Fatal(err)
	}
	return r.until("the assignment", func(w wire.Record) bool { return w.AssignmentDigest == digest })
}
