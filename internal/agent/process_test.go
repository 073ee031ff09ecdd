package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// output is a writer for several goroutines.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func shell(script string) Command { return Command{Path: "/bin/sh", Args: []string{"-c", script}} }

func run(t *testing.T, c Command, out *output) *process {
	t.Helper()
	p, err := startProcess(c, out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func TestHowAServerEnded(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ script, want string }{
		"in order":               {"echo all is well", "exit status 0"},
		"with a reason":          {"echo 'line one'; echo 'bad   directive' >&2; exit 3", "exit status 3: line one bad directive"},
		"by a signal":            {"echo something; kill -9 $$", "signal: killed"},
		"with more than is kept": {"head -c 100000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1", " the end"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out output
			if got := run(t, shell(c.script), &out).wait(); !strings.HasSuffix(got, c.want) || len(got) > tailSize+30 {
				t.Errorf("ended with %q, want %q", got, c.want)
			}
		})
	}
}

func TestOutputIsPassedOn(t *testing.T) {
	t.Parallel()
	var out output
	run(t, shell("echo out; echo err >&2"), &out).wait()
	await(t, "the output", func() bool { return out.String() == "out\nerr\n" })
}

func TestAServersChildrenDieWithIt(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "child")
	var out output
	p := run(t, shell(fmt.Sprintf("sleep 1000 & echo $! > %s.new; mv %s.new %s; wait", pidFile, pidFile, pidFile)), &out)
	var child string
	await(t, "the child", func() bool {
		b, err := os.ReadFile(pidFile)
		child = strings.TrimSpace(string(b))
		return err == nil
	})
	// The server alone dies, as from the kernel's hand.
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if got := p.wait(); got != "signal: killed" {
		t.Errorf("ended with %q", got)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("the end was known after %s", took)
	}
	await(t, "the child's death", func() bool {
		b, err := os.ReadFile(filepath.Join("/proc", child, "stat"))
		return err != nil || strings.Contains(string(b), ") Z ")
	})
}

func TestAServerThatDoesNotExistIsAnError(t *testing.T) {
	t.Parallel()
	var out output
	if _, err := startProcess(Command{Path: "/no/such/server"}, &out); err == nil {
		t.Error("started")
	}
}

// await polls a condition.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
		time.Sleep(2 * time.Millisecond) // polls
	}
}
