package load_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/testkit/check"
	"github.com/holdfast-dev/holdfast/internal/testkit/history"
	"github.com/holdfast-dev/holdfast/internal/testkit/load"
)

const password = "first"

// server is a real server on loopback, without persistence: started again, it is empty.
type server struct {
	address string
	port    string
	binary  string
	process *exec.Cmd
}

func startServer(t *testing.T) *server {
	t.Helper()
	binary := os.Getenv("HOLDFAST_REDIS_SERVER")
	if binary == "" {
		var err error
		if binary, err = exec.LookPath("redis-server"); err != nil {
			t.Skip("SKIPPED: no redis-server on the PATH and HOLDFAST_REDIS_SERVER is not set: nothing was checked against a real server")
		}
	}
	s := &server{port: strconv.Itoa(freePort(t)), binary: binary}
	s.address = "127.0.0.1:" + s.port
	s.start(t)
	t.Cleanup(func() { s.kill(t) })
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) start(t *testing.T) {
	t.Helper()
	s.process = exec.Command(s.binary, "--port", s.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--requirepass", password, "--masterauth", password, "--repl-diskless-sync-delay", "0", "--dir", t.TempDir())
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	client := s.client(t)
	eventually(t, "the server answers", func() bool { return client.Ping(t.Context()).Err() == nil })
}

func (s *server) kill(t *testing.T) {
	t.Helper()
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

func (s *server) client(t *testing.T) *redis.Client {
	t.Helper()
	c := load.Open(load.Options{Address: s.address, Passwords: []string{password}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *server) follow(t *testing.T, primary *server) {
	t.Helper()
	client := s.client(t)
	if err := client.ReplicaOf(t.Context(), "127.0.0.1", primary.port).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the replica follows", func() bool {
		return strings.Contains(client.Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 10 s until %s", what)
		}
		time.Sleep(10 * time.Millisecond) // Polls a server process, which has no clock to inject.
	}
}

func options(s *server) load.Options {
	return load.Options{Address: s.address, Passwords: []string{"wrong", password}, History: history.NewRecorder(),
		Layout: load.Layout{Prefix: "t", Sets: 8, Lists: 2}, Adders: 3, Appenders: 2, Pace: 2 * time.Millisecond}
}

func start(t *testing.T, o load.Options) *load.Load {
	t.Helper()
	l, err := load.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	return l
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func judge(t *testing.T, o load.Options, members ...*server) check.Report {
	t.Helper()
	in := check.Input{Events: o.History.Events(), Primary: members[0].address, Members: map[string]check.Data{}}
	for _, m := range members {
		data, err := load.Read(t.Context(), load.Options{Address: m.address, Passwords: []string{password}, Layout: o.Layout})
		if err != nil {
			t.Fatal(err)
		}
		in.Members[m.address] = data
	}
	report, err := check.Run(in)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestHealthyPairIsClean(t *testing.T) {
	t.Parallel()
	primary, replica := startServer(t), startServer(t)
	replica.follow(t, primary)
	o := options(primary)
	o.Reconnect = 7
	l := start(t, o)
	if err := l.WaitConfirmed(within(t), 300); err != nil {
		t.Fatal(err)
	}
	l.Stop()
	report := judge(t, o, primary, replica)
	if report.Err() != nil || report.Counts.Failed+report.Counts.Unknown > 0 || report.Counts.Confirmed < 300 {
		t.Errorf("%s: %v", report.Summary(), report.Err())
	}
}

func TestWithoutReplicaNothingIsConfirmed(t *testing.T) {
	t.Parallel()
	primary := startServer(t)
	o := options(primary)
	l := start(t, o)
	if err := l.WaitAccepted(within(t), 5); err != nil {
		t.Fatal(err)
	}
	l.Stop()
	if c := o.History.Counts(); c.Confirmed != 0 {
		t.Errorf("%d writes count as confirmed, and there is no replica", c.Confirmed)
	}
}

// The calibration: a primary that restarts empty and is served from at once must be found out.
func TestPrimaryServedEmptyAfterRestartIsFound(t *testing.T) {
	t.Parallel()
	primary, replica := startServer(t), startServer(t)
	replica.follow(t, primary)
	o := options(primary)
	l := start(t, o)
	if err := l.WaitConfirmed(within(t), 100); err != nil {
		t.Fatal(err)
	}
	at := o.History.Mark("kill")
	primary.kill(t)
	primary.start(t)
	if err := l.WaitConfirmed(within(t), 100); err != nil {
		t.Fatal(err)
	}
	l.Stop()
	gap := check.Gaps(o.History.Events(), check.Window{From: at, Until: o.History.Now()})
	if gap.Accepted.Length() < 5*time.Millisecond {
		t.Errorf("a restart of the server was seen as a gap of %s", gap.Accepted.Length())
	}
	if report := judge(t, o, primary, replica); len(report.Lost) == 0 {
		t.Errorf("the loss of all data was not found: %s", report.Summary())
	}
}

func TestReplicaRefusesAndTheClientsKnowIt(t *testing.T) {
	t.Parallel()
	primary, replica := startServer(t), startServer(t)
	replica.follow(t, primary)
	o := options(replica)
	l := start(t, o)
	eventually(t, "some writes were refused", func() bool { return o.History.Counts().Failed > 10 })
	l.Stop()
	if report := judge(t, o, primary, replica); report.Err() != nil || report.Counts.Accepted > 0 || report.Counts.Unknown > 0 {
		t.Errorf("%s: %v", report.Summary(), report.Err())
	}
}

func TestDeadAddressIsRecordedAsNotSent(t *testing.T) {
	t.Parallel()
	o := load.Options{Address: "127.0.0.1:" + strconv.Itoa(freePort(t)), Passwords: []string{password},
		History: history.NewRecorder(), Layout: load.DefaultLayout("t"), Adders: 1, Pace: time.Millisecond}
	l := start(t, o)
	eventually(t, "attempts were recorded", func() bool { return len(o.History.Events()) > 3 })
	l.Stop()
	for _, e := range o.History.Events() {
		if e.Kind != history.KindConnect || e.Outcome != history.Fail || e.ID != 0 {
			t.Fatalf("unexpected event %+v", e)
		}
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	t.Parallel()
	good := load.Options{Address: "a:1", History: history.NewRecorder(), Adders: 1, Pace: 1, Passwords: []string{""}}
	cases := map[string]func(*load.Options){
		"no address":  func(o *load.Options) { o.Address = "" },
		"no history":  func(o *load.Options) { o.History = nil },
		"no clients":  func(o *load.Options) { o.Adders = 0 },
		"no pace":     func(o *load.Options) { o.Pace = 0 },
		"no password": func(o *load.Options) { o.Passwords = nil },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := good
			spoil(&o)
			if l, err := load.Start(t.Context(), o); err == nil {
				l.Stop()
				t.Error("the load started")
			}
		})
	}
}
