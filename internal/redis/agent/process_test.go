package agent_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol/realserver"
)

// buildDir is where the agent's program is built; TestMain removes it.
var buildDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "holdfast-agent") })

// buildAgent makes the agent's program once for all tests.
var buildAgent = sync.OnceValues(func() (string, error) {
	dir, err := buildDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "agent")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "github.com/holdfast-dev/holdfast/cmd/agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the agent: %w: %s", err, out)
	}
	return path, nil
})

// startProcess runs a member as a process of its own, as in a pod.
func (w *world) startProcess(pod string) (*member, *os.Process) {
	w.t.Helper()
	path, err := buildAgent()
	if err != nil {
		w.t.Fatal(err)
	}
	m := w.newMember(pod, shortTempDir(w.t), realserver.FreePort(w.t))
	m.orders = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(realserver.FreePort(w.t))))
	m.probes = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(realserver.FreePort(w.t))))
	command := exec.Command(path, "run", "--engine=redis", "--cluster="+clusterUID, "--pod="+pod, "--server-name="+serverName,
		"--data-dir="+m.dataDir(), "--run-dir="+filepath.Join(m.dir, "run"), "--tls-dir="+w.tlsDir, "--server-path="+w.program.Path,
		"--server-port="+strconv.Itoa(int(m.redisPort)), "--listen="+m.orders, "--probe-listen="+m.probes, "--relief="+w.relief.String())
	command.Stderr = w.t.Output()
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { m.ended <- command.Wait() }()
	m.stop = func() { _ = command.Process.Signal(syscall.SIGTERM) }
	w.t.Cleanup(m.end)
	awaitListener(w.t, m.orders)
	m.connect()
	return m, command.Process
}

func awaitListener(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("nothing listens on %s: %v", address, err)
		}
		time.Sleep(5 * time.Millisecond) // polls until the process listens
	}
}
