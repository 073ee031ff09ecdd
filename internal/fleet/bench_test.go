package fleet_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/pki"
	"github.com/holdfast-dev/holdfast/internal/testkit/fakeagent"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// benchStreams is how many idle streams the benchmark holds open: a hundred clusters of three.
const benchStreams = 300

// serveAgents turns the test binary into the other end: the agents run in a process of their own,
// so that what is measured is the manager's side alone.
var serveAgents = flag.Int("fleet.agents", 0, "serve this many fake agents until standard input ends; the first line is their Secret")

func TestMain(m *testing.M) {
	flag.Parse()
	if *serveAgents == 0 {
		os.Exit(m.Run())
	}
	if err := runAgents(*serveAgents); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runAgents serves fake agents and prints their members, one JSON value a line.
func runAgents(n int) error {
	in := json.NewDecoder(os.Stdin)
	var agents map[string][]byte
	if err := in.Decode(&agents); err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(agents[pki.KeyLeafCertificate], agents[pki.KeyLeafKey])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(agents[pki.KeyBundle])
	config := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	out := json.NewEncoder(os.Stdout)
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		m := member(fmt.Sprintf("shop-%d", i))
		m.Address = l.Addr().String()
		r := record(m)
		r.Engine = json.RawMessage(benchFacts)
		a := fakeagent.New(fakeagent.Options{TLS: config, Record: r, Heartbeat: wire.HeartbeatInterval})
		go func() {
			if err := a.Serve(l); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
		if err := out.Encode(m); err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// benchFacts has the size of what an agent says of a primary with two replicas.
const benchFacts = `{"version":"8.0.6","runID":"0123456789abcdef0123456789abcdef01234567","isPrimary":true,` +
	`"replID":"0123456789abcdef0123456789abcdef01234567","replID2":"0123456789abcdef0123456789abcdef01234567","secondOffset":123456,` +
	`"offset":123456789,"linkUp":false,"lastIOMillis":-1,"failoverState":"no-failover","replicas":[{"host":"10.0.0.1","online":true,` +
	`"offset":123456789,"lagSeconds":0},{"host":"10.0.0.2","online":true,"offset":123456789,"lagSeconds":1}],"keys":1000000,` +
	`"usedMemory":123456789,"maxMemory":1073741824,"syncFull":2,"syncPartialOK":4,"passwordsAccepted":["` +
	`0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"]}`

// BenchmarkIdleStreams says what a stream costs that only carries heartbeats: memory for each, and
// CPU time for each heartbeat. One operation is a second of all streams together.
func BenchmarkIdleStreams(b *testing.B) {
	plan, err := pki.Plan(time.Now(), pki.Input{Name: "shop", ServerName: serverName, Propagation: pki.DefaultPropagation})
	if err != nil {
		b.Fatal(err)
	}
	client, err := pki.NewClientTLS(plan.Material, serverName)
	if err != nil {
		b.Fatal(err)
	}
	members := startAgents(b, plan.Material.Agents)

	var wakes atomic.Int64
	f := fleet.New(fleet.Options{Wake: func(types.NamespacedName) { wakes.Add(1) }})
	before := memory()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Start(ctx) }()
	opening := time.Now()
	f.Sync(shop, fleet.Target{Members: members, TLS: client, Detection: 10 * time.Second})
	for connected(f) < benchStreams {
		time.Sleep(time.Millisecond) // until all streams are open
	}
	opened := time.Since(opening)
	time.Sleep(3 * time.Second) // until buffers have the size that heartbeats need
	perStream := float64(memory()-before) / benchStreams
	openWakes := wakes.Load()

	used, seconds := cpu(), 0
	b.ResetTimer()
	for b.Loop() {
		time.Sleep(time.Second) // heartbeats arrive meanwhile
		seconds++
	}
	b.StopTimer()
	heartbeats := float64(seconds * benchStreams * int(time.Second/wire.HeartbeatInterval))
	b.ReportMetric(perStream, "B/stream")
	b.ReportMetric(float64((cpu()-used).Microseconds())/heartbeats, "cpu-µs/heartbeat")
	b.ReportMetric(float64(opened.Milliseconds()), "ms-to-open-all")
	b.ReportMetric(0, "ns/op")
	if n := connected(f); n != benchStreams {
		b.Errorf("%d streams connected at the end", n)
	}
	if n := wakes.Load() - openWakes; n > 0 {
		b.Errorf("woken %d times by heartbeats", n)
	}
	stop()
	if err := <-done; err != nil {
		b.Error(err)
	}
}

func startAgents(b *testing.B, secret map[string][]byte) []fleet.Member {
	b.Helper()
	child := exec.Command(os.Args[0], fmt.Sprintf("-fleet.agents=%d", benchStreams))
	child.Stderr = os.Stderr
	in, inErr := child.StdinPipe()
	out, outErr := child.StdoutPipe()
	if err := errors.Join(inErr, outErr, child.Start(), json.NewEncoder(in).Encode(secret)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(in.Close(), child.Wait()); err != nil {
			b.Error(err)
		}
	})
	members := make([]fleet.Member, benchStreams)
	lines := json.NewDecoder(bufio.NewReader(out))
	for i := range members {
		if err := lines.Decode(&members[i]); err != nil {
			b.Fatal(err)
		}
	}
	return members
}

func connected(f *fleet.Fleet) int {
	n := 0
	for _, c := range f.Contacts(shop) {
		if c.Connected {
			n++
		}
	}
	return n
}

// memory that the heap and the stacks of this process really hold.
func memory() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc + s.StackInuse)
}

// cpu time of this process, in the kernel too.
func cpu() time.Duration {
	var u syscall.Rusage
	// The call cannot fail for the process itself.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
