package agent

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/holdfast-dev/holdfast/internal/pki"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

func TestNothingStartsBeforeAnAssignment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.until("what the directory claims", func(w wire.Record) bool { return w.Engine != nil })
	if got.Server.Phase != wire.ServerWaiting || string(got.Engine) != `{"inspected":true}` {
		t.Errorf("record %+v", got)
	}
	if r.engine.count("Prepare") != 0 {
		t.Error("a server was prepared")
	}
}

func TestTheEpochIsOnDiskBeforeItsEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	seen := make(chan Epochs, 10)
	r.engine.set(func(e *fakeEngine) { e.onApply = func() { seen <- openStore(t, r.stateDir).load() } })
	r.assign(alone(wire.RolePrimary, 7))
	if got := <-seen; got.Seen != 7 || got.Primary != 7 {
		t.Errorf("at the first effect the disk has %+v", got)
	}
	r.engine.set(func(e *fakeEngine) { e.hang["HandOver"] = make(chan struct{}) })
	answered := make(chan error, 1)
	go func() {
		_, err := r.send(http.MethodPost, wire.PathHandOver, handOverTo(8))
		answered <- err
	}()
	await(t, "the hand-over", func() bool { return r.engine.count("HandOver") == 1 })
	if got := openStore(t, r.stateDir).load().Seen; got != 8 {
		t.Errorf("during the hand-over the disk has %d", got)
	}
	if _, err := r.send(http.MethodPost, wire.PathKill, wire.Kill{Cluster: cluster, Epoch: 9}); err != nil {
		t.Fatal(err)
	}
	if got := openStore(t, r.stateDir).load().Seen; got != 9 {
		t.Errorf("after the kill the disk has %d", got)
	}
	if err := <-answered; refusedWith(err) != wire.CodeEngine {
		t.Errorf("the hand-over ended with %v", err)
	}
}

func handOverTo(epoch int64) wire.HandOver {
	return wire.HandOver{Cluster: cluster, Epoch: epoch, To: wire.Endpoint{Host: "10.0.0.2", Port: 6379}, Timeout: time.Second}
}

func TestAKillDoesNotWaitForAnOrderThatHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.assign(alone(wire.RoleHeld, 1))
	r.engine.set(func(e *fakeEngine) { e.hang["Apply Primary"] = make(chan struct{}) })
	answered := make(chan error, 1)
	go func() {
		_, err := r.send(http.MethodPut, wire.PathAssignment, alone(wire.RolePrimary, 2))
		answered <- err
	}()
	await(t, "the order", func() bool { return r.engine.count("Apply Primary") == 1 })
	killed, err := r.send(http.MethodPost, wire.PathKill, wire.Kill{Cluster: cluster, Epoch: 3, Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if killed.Server.Phase != wire.ServerDown || killed.Server.KilledEpoch != 3 || killed.SpentEpoch != 2 {
		t.Errorf("record %+v", killed)
	}
	if err := <-answered; refusedWith(err) != wire.CodeEngine {
		t.Errorf("the order ended with %v", err)
	}
	if _, err := r.send(http.MethodPut, wire.PathAssignment, alone(wire.RoleHeld, 2)); refusedWith(err) != wire.CodeStaleEpoch {
		t.Errorf("an order from before the kill: %v", err)
	}
	if again, err := r.send(http.MethodPost, wire.PathKill, wire.Kill{Cluster: cluster, Epoch: 3}); err != nil || again.Server.KilledEpoch != 3 {
		t.Errorf("a repeated kill: %+v, %v", again.Server, err)
	}
	back := r.assign(alone(wire.RoleHeld, 3))
	if back.Server.Instance != 2 || back.Server.KilledEpoch != 0 {
		t.Errorf("record %+v", back.Server)
	}
}

func TestANewerAssignmentTakesTheRoomOfOneThatHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.assign(alone(wire.RoleHeld, 1))
	r.engine.set(func(e *fakeEngine) { e.hang["Apply Primary"] = make(chan struct{}) })
	answered := make(chan error, 1)
	go func() {
		_, err := r.send(http.MethodPut, wire.PathAssignment, alone(wire.RolePrimary, 2))
		answered <- err
	}()
	await(t, "the order", func() bool { return r.engine.count("Apply Primary") == 1 })
	r.assign(alone(wire.RoleReplica, 3))
	if err := <-answered; refusedWith(err) != wire.CodeEngine {
		t.Errorf("the first order ended with %v", err)
	}
}

func TestAnAssignmentThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.assign(alone(wire.RoleHeld, 1))
	r.engine.set(func(e *fakeEngine) { e.fail["Apply Primary"] = errors.New("connection lost") })
	if _, err := r.send(http.MethodPut, wire.PathAssignment, alone(wire.RolePrimary, 2)); refusedWith(err) != wire.CodeEngine {
		t.Errorf("answered %v", err)
	}
	if got := r.record(); got.AssignmentError != "connection lost" || got.AssignmentDigest != "" {
		t.Errorf("record %+v", got)
	}
	r.engine.set(func(e *fakeEngine) { clear(e.fail) })
	got := r.until("another try", func(w wire.Record) bool { return w.AssignmentDigest != "" })
	if got.AssignmentError != "" || string(got.Engine) != `{"role":"Primary"}` {
		t.Errorf("record %+v", got)
	}
}

func TestAnIncompleteAssignmentHasItsRole(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.assign(alone(wire.RolePrimary, 1))
	if !r.probe("/readyz") {
		t.Error("a primary is not ready")
	}
	r.engine.set(func(e *fakeEngine) { e.fail["Apply Primary"] = &IncompleteError{Reason: "maxmemory is odd"} })
	a := alone(wire.RolePrimary, 2)
	got, err := r.send(http.MethodPut, wire.PathAssignment, a)
	if err != nil || got.AssignmentDigest != "" || got.AssignmentError != "maxmemory is odd" {
		t.Errorf("record %+v, %v", got, err)
	}
	if !r.probe("/readyz") {
		t.Error("a setting that was refused made the member unready")
	}
	tries := r.engine.count("Apply Primary")
	time.Sleep(2 * retryAfter) // would be enough for another try
	if r.engine.count("Apply Primary") != tries {
		t.Error("what was refused was tried again")
	}
}

func TestAServerThatDiesComesBackHeldWithPauses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.assign(alone(wire.RolePrimary, 1))
	r.engine.set(func(e *fakeEngine) { e.command = shell("exit 4") })
	r.must(http.MethodPost, wire.PathKill, wire.Kill{Cluster: cluster, Epoch: 2})
	if _, err := r.send(http.MethodPut, wire.PathAssignment, alone(wire.RoleHeld, 2)); err != nil {
		t.Fatal(err)
	}
	crashing := r.until("some crashes", func(w wire.Record) bool { return w.Server.Instance >= 4 })
	if crashing.Server.LastExit != "exit status 4" || crashing.AssignmentDigest != "" {
		t.Errorf("record %+v", crashing)
	}
	// The first may have lived long enough to be given the order; no later one is.
	if n := r.engine.count("Apply Held"); n > 1 {
		t.Errorf("an order was given to %d servers", n)
	}
	r.engine.set(func(e *fakeEngine) { e.command = Command{Path: "/bin/sleep", Args: []string{"1000"}} })
	back := r.until("a server that stays", func(w wire.Record) bool {
		return w.Server.Phase == wire.ServerRunning && w.Server.Instance > crashing.Server.Instance && r.stays(w.Server.Instance)
	})
	if back.AssignmentDigest != "" {
		t.Errorf("a server took a role by itself: %+v", back)
	}
	r.assign(alone(wire.RoleHeld, 2))
}

// stays says whether a server still runs after some time.
func (r *rig) stays(instance int) bool {
	time.Sleep(100 * time.Millisecond) // longer than a server that exits at once lives
	w := r.record()
	return w.Server.Phase == wire.ServerRunning && w.Server.Instance == instance
}

func (r *rig) must(method, path string, body any) {
	r.Helper()
	if _, err := r.send(method, path, body); err != nil {
		r.Fatal(err)
	}
}

func TestAServerThatCannotBePreparedIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.engine.set(func(e *fakeEngine) { e.fail["Prepare"] = errors.New("no room") })
	if _, err := r.send(http.MethodPut, wire.PathAssignment, alone(wire.RoleHeld, 1)); err != nil {
		t.Fatal(err)
	}
	r.until("the reason", func(w wire.Record) bool {
		return w.Server.Phase == wire.ServerDown && w.Server.LastExit == "not started: no room"
	})
	r.engine.set(func(e *fakeEngine) { clear(e.fail) })
	r.assign(alone(wire.RoleHeld, 1))
}

func TestAStopThatFailsEndsInAKill(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.assign(alone(wire.RoleHeld, 1))
	start := time.Now()
	r.end()
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the end took %s", took)
	}
	if r.engine.count("Stop") != 1 {
		t.Error("the server was not asked to stop")
	}
}

func TestOnlyTheManagerGivesOrders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	certificates, err := LoadCertificates(r.tlsDir, serverName)
	if err != nil {
		t.Fatal(err)
	}
	peer := r.as(certificates.client())
	for _, q := range []request{
		{http.MethodPut, wire.PathAssignment, alone(wire.RoleHeld, 1)}, {http.MethodPost, wire.PathKill, wire.Kill{Cluster: cluster}},
		{http.MethodPost, wire.PathHandOver, handOverTo(1)}, {http.MethodPost, wire.PathRefresh, nil}, {http.MethodPost, wire.PathStream, nil},
	} {
		if err := r.exchange(peer, q, &wire.Record{}); refusedWith(err) != wire.CodeForbidden {
			t.Errorf("%s by an agent: %v", q.path, err)
		}
	}
	var greeting wire.Peer
	if err := r.exchange(peer, request{http.MethodPost, wire.PathPeer, wire.Peer{Pod: "one", Cluster: cluster, Epoch: 3}}, &greeting); err != nil || greeting.Pod != "me" || greeting.Cluster != cluster {
		t.Errorf("a greeting: %+v, %v", greeting, err)
	}
	err = r.exchange(peer, request{http.MethodPost, wire.PathPeer, wire.Peer{Pod: "one", Cluster: "other"}}, &greeting)
	if refusedWith(err) != wire.CodeWrongCluster {
		t.Errorf("a greeting from another cluster: %v", err)
	}
	foreign, _ := newAuthority(t)
	config, err := foreign.Config(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*tls.Config{
		"another cluster's manager": {RootCAs: r.managerTLS().RootCAs, ServerName: serverName, GetClientCertificate: config.GetClientCertificate, MinVersion: tls.VersionTLS13},
		"nobody":                    {RootCAs: r.managerTLS().RootCAs, ServerName: serverName, MinVersion: tls.VersionTLS13},
	} {
		if err := r.exchange(r.as(c), request{http.MethodPost, wire.PathRefresh, nil}, &wire.Record{}); err == nil {
			t.Errorf("%s got an answer", name)
		}
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, r.url+wire.PathAssignment, strings.NewReader(`{"cluster":`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := r.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("answered %s", response.Status)
	}
}

func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	_, dir := newAuthority(t)
	c, err := LoadCertificates(dir, serverName)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := c.current()
	plan, err := pki.Plan(time.Now(), pki.Input{Name: "shop", ServerName: serverName, Propagation: pki.DefaultPropagation})
	if err != nil {
		t.Fatal(err)
	}
	half := plan.Material
	half.Agents["tls.key"] = []byte("half")
	writeAgentFiles(t, dir, half)
	c.readAt = time.Time{}
	if broken, _ := c.current(); string(broken.Certificate[0]) != string(before.Certificate[0]) {
		t.Error("a broken replacement was taken")
	}
	_, whole := newAuthority(t)
	next, err := LoadCertificates(whole, serverName)
	if err != nil {
		t.Fatal(err)
	}
	c.dir, c.readAt = whole, time.Time{}
	after, _ := c.current()
	want, _ := next.current()
	if string(after.Certificate[0]) != string(want.Certificate[0]) {
		t.Error("the replacement was not taken")
	}
}

// probe says whether a probe passes.
func (r *rig) probe(path string) bool {
	status, _ := r.get(path)
	return status == http.StatusOK
}

func (r *rig) get(path string) (int, string) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.probes+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		r.Fatal(err)
	}
	return response.StatusCode, string(b)
}

func TestLivenessKnowsNothingOfTheServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if !r.probe("/livez") || r.probe("/readyz") {
		t.Error("an agent that waits must be alive and not ready")
	}
	r.assign(alone(wire.RolePrimary, 1))
	r.engine.set(func(e *fakeEngine) { e.hang["Observe"] = make(chan struct{}) })
	await(t, "the server's silence", func() bool { return !r.probe("/readyz") })
	if !r.probe("/livez") {
		t.Error("a server that hangs made the agent look dead")
	}
}

func TestMetricsOfAMember(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.assign(alone(wire.RolePrimary, 4))
	_, text := r.get("/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"holdfast_agent_epoch": 4, "holdfast_agent_lease_holds": 1, "holdfast_agent_writes_fenced": 0,
		"holdfast_agent_ready": 1, "holdfast_agent_assignment_applied": 1,
	} {
		f := families[name]
		if f == nil || f.GetMetric()[0].GetGauge().GetValue() != want {
			t.Errorf("%s is %v, want %v", name, f, want)
		}
	}
	if got := families["holdfast_agent_server_starts_total"].GetMetric()[0].GetCounter().GetValue(); got != 1 {
		t.Errorf("%v starts", got)
	}
	if families["process_resident_memory_bytes"].GetMetric()[0].GetGauge().GetValue() < 1<<20 {
		t.Error("no memory of the process")
	}
}
