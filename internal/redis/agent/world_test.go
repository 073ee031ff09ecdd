package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	base "github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/pki"
	"github.com/holdfast-dev/holdfast/internal/redis/agent"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/realserver"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

const (
	clusterUID = "cluster-uid"
	serverName = "shop.prod.agents.holdfast"
	password   = "correct horse"
)

// world is a cluster of members on the loopback, each an agent in this process with a real server.
type world struct {
	t       *testing.T
	program realserver.Program
	tls     *pki.ClientTLS
	tlsDir  string
	// relief of the members' agents.
	relief time.Duration
}

func newWorld(t *testing.T, p realserver.Program) *world {
	t.Helper()
	plan, err := pki.Plan(time.Now(), pki.Input{Name: "shop", ServerName: serverName, Propagation: pki.DefaultPropagation})
	if err != nil {
		t.Fatal(err)
	}
	client, err := pki.NewClientTLS(plan.Material, serverName)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, program: p, tls: client, tlsDir: t.TempDir()}
	for _, file := range []string{"ca.crt", "tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(w.tlsDir, file), plan.Material.Agents[file], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// member is one agent with its server, and the manager's connection to it.
type member struct {
	w         *world
	pod       string
	dir       string
	redisPort int32
	// orders and probes are the addresses that the agent serves.
	orders, probes string
	// stop tells the agent to stop, as the kubelet does; ended gets how it ended.
	stop  func()
	ended chan error
	http  *http.Client
	// endStream breaks the manager's stream.
	endStream context.CancelFunc

	mu      sync.Mutex
	records []heard
	echo    bool
}

type heard struct {
	wire.Record
	at time.Time
}

// start runs a member on a directory; the same directory again is a restarted container.
func (w *world) start(pod string) *member {
	return w.startOn(pod, shortTempDir(w.t), realserver.FreePort(w.t))
}

func (w *world) startOn(pod, dir string, redisPort int32) *member {
	w.t.Helper()
	orders, probes := listen(w.t), listen(w.t)
	m := w.newMember(pod, dir, redisPort)
	m.orders, m.probes = orders.Addr().String(), probes.Addr().String()
	logger := slog.New(slog.NewTextHandler(w.t.Output(), nil)).With("pod", pod)
	engine, err := agent.New(agent.Options{
		Cluster: clusterUID, DataDir: m.dataDir(), StateDir: m.stateDir(), RunDir: filepath.Join(dir, "run"),
		Port: redisPort, ServerPath: w.program.Path, Dial: protocol.Dial, Logger: logger, Now: time.Now,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	certificates, err := base.LoadCertificates(w.tlsDir, serverName)
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := base.New(base.Options{
		Identity: base.Identity{Version: "test", Instance: pod + "-1", Pod: pod, PodUID: pod + "-uid", Cluster: clusterUID},
		Engine:   engine, Orders: orders, Probes: probes, TLS: certificates, StateDir: m.stateDir(), Relief: w.relief,
		Output: io.Discard, Metrics: engine.Metrics, Logger: logger, Clock: base.NewClock(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	go func() { m.ended <- errors.Join(a.Run(ctx), engine.Close()) }()
	w.t.Cleanup(m.end)
	m.connect()
	return m
}

func (w *world) newMember(pod, dir string, redisPort int32) *member {
	return &member{w: w, pod: pod, dir: dir, redisPort: redisPort, ended: make(chan error, 1), echo: true}
}

func (m *member) dataDir() string  { return filepath.Join(m.dir, "data") }
func (m *member) stateDir() string { return filepath.Join(m.dataDir(), ".holdfast") }

// shortTempDir is short, since the path of a Unix socket must be.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// end stops the agent in order and waits for it.
func (m *member) end() {
	m.stop()
	select {
	case err := <-m.ended:
		m.ended <- err
		if err != nil {
			m.w.t.Errorf("agent %s ended: %v", m.pod, err)
		}
	case <-time.After(40 * time.Second): // longer than the agent's own limit for an ordered stop
		m.w.t.Errorf("agent %s did not end", m.pod)
	}
}

// connect is the manager opening its stream.
func (m *member) connect() {
	m.w.t.Helper()
	config, err := m.w.tls.Config(time.Now())
	if err != nil {
		m.w.t.Fatal(err)
	}
	m.http = &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	ctx, cancel := context.WithCancel(context.Background())
	m.endStream = cancel
	m.w.t.Cleanup(cancel)
	body, echoes := io.Pipe()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url(wire.PathStream), body)
	if err != nil {
		m.w.t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		defer echoes.Close()
		response, err := m.http.Do(request)
		opened <- err
		if err != nil {
			return
		}
		defer response.Body.Close()
		m.readStream(response.Body, echoes)
	}()
	if err := <-opened; err != nil {
		m.w.t.Fatal(err)
	}
}

func (m *member) readStream(records io.Reader, echoes io.Writer) {
	decoder, encoder := json.NewDecoder(records), json.NewEncoder(echoes)
	for {
		var r wire.Record
		if err := decoder.Decode(&r); err != nil {
			return
		}
		m.mu.Lock()
		m.records = append(m.records, heard{r, time.Now()})
		echo := m.echo
		m.mu.Unlock()
		if echo && encoder.Encode(wire.Echo{SentMono: r.SentMono}) != nil {
			return
		}
	}
}

func (m *member) setEcho(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.echo = on
}

func (m *member) url(path string) string { return "https://" + m.orders + path }

func (m *member) endpoint() wire.Endpoint {
	return wire.Endpoint{Pod: m.pod, Host: "127.0.0.1", Port: m.redisPort}
}

func (m *member) peer() wire.PeerAddress {
	_, port, err := net.SplitHostPort(m.orders)
	if err != nil {
		m.w.t.Fatal(err)
	}
	return wire.PeerAddress{Pod: m.pod, Host: "127.0.0.1", Port: int32(number(m.w.t, port))}
}

// order sends an order and returns the record or the refusal.
func (m *member) order(method, path string, body any) (wire.Record, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return wire.Record{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, m.url(path), bytes.NewReader(encoded))
	if err != nil {
		return wire.Record{}, err
	}
	response, err := m.http.Do(request)
	if err != nil {
		return wire.Record{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		refusal := &base.Refusal{Status: response.StatusCode}
		return wire.Record{}, errors.Join(refusal, json.NewDecoder(response.Body).Decode(&refusal.Answer))
	}
	var r wire.Record
	return r, json.NewDecoder(response.Body).Decode(&r)
}

// latest is the newest record on the stream.
func (m *member) latest() heard {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.records) == 0 {
		return heard{}
	}
	return m.records[len(m.records)-1]
}

// await polls the stream's newest record.
func (m *member) await(what string, within time.Duration, is func(wire.Record) bool) heard {
	m.w.t.Helper()
	deadline := time.Now().Add(within)
	for {
		r := m.latest()
		if r.Seq > 0 && is(r.Record) {
			return r
		}
		if time.Now().After(deadline) {
			b, _ := json.Marshal(r.Record)
			m.w.t.Fatalf("%s: %s did not happen within %s; newest record: %s", m.pod, what, within, b)
		}
		time.Sleep(time.Millisecond) // polls the records that the stream brings
	}
}

func factsOf(r wire.Record) facts.Facts {
	var f facts.Facts
	if len(r.Engine) > 0 {
		if err := json.Unmarshal(r.Engine, &f); err != nil {
			panic(err)
		}
	}
	return f
}

// wishes that all members get.
func (w *world) wishes() facts.Wishes {
	return facts.Wishes{
		Engine:     w.program.Engine,
		Parameters: map[string]string{"save": "", "appendonly": "no"},
		Users: []facts.User{
			{Name: "default", PasswordHashes: []string{digest(password)}, Rules: "~* &* +@all"},
			{Name: "replication", PasswordHashes: []string{digest("link")}, Rules: "+psync +replconf +ping"},
		},
		ReplicationUser: "replication", ReplicationPassword: "link",
	}
}

// change adapts an assignment before it is sent.
type change func(*wire.Assignment, *facts.Wishes)

func (w *world) assignment(role wire.Role, epoch int64, changes ...change) wire.Assignment {
	w.t.Helper()
	wishes := w.wishes()
	a := wire.Assignment{Cluster: clusterUID, Epoch: epoch, Role: role, Lease: time.Second, Isolation: time.Minute}
	for _, c := range changes {
		c(&a, &wishes)
	}
	encoded, err := json.Marshal(wishes)
	if err != nil {
		w.t.Fatal(err)
	}
	a.Engine = encoded
	return a
}

func following(m *member) change {
	return func(a *wire.Assignment, _ *facts.Wishes) { e := m.endpoint(); a.Primary = &e }
}

func withPeers(members ...*member) change {
	return func(a *wire.Assignment, _ *facts.Wishes) {
		for _, m := range members {
			a.Peers = append(a.Peers, m.peer())
		}
		a.LeasePeers = (len(members) + 1) / 2
	}
}

// assign sends an assignment until it is in force.
func (m *member) assign(role wire.Role, epoch int64, changes ...change) wire.Record {
	m.w.t.Helper()
	a := m.w.assignment(role, epoch, changes...)
	want, err := a.Digest()
	if err != nil {
		m.w.t.Fatal(err)
	}
	r, err := m.order(http.MethodPut, wire.PathAssignment, a)
	if err != nil {
		m.w.t.Fatalf("assign %s to %s: %v", role, m.pod, err)
	}
	if r.AssignmentDigest != want {
		r = m.await(fmt.Sprintf("assignment %s", role), 10*time.Second, func(r wire.Record) bool { return r.AssignmentDigest == want }).Record
	}
	return r
}

// client is an application's connection to a member's server.
func (m *member) client() protocolClient {
	m.w.t.Helper()
	return dialClient(m.w.t, net.JoinHostPort("127.0.0.1", strconv.Itoa(int(m.redisPort))), password)
}
