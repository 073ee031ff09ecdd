package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol/realserver"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// statusOf reads a field of a process's status, in kB.
func statusOf(t *testing.T, pid int, field string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return number(t, strings.TrimSuffix(strings.TrimSpace(v), " kB"))
		}
	}
	t.Fatalf("no %s", field)
	return 0
}

func TestAnAgentStaysSmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	one, process := w.startProcess("shop-0")
	two, three := w.start("shop-1"), w.start("shop-2")
	one.assign(wire.RolePrimary, 1, withPeers(two, three))
	two.assign(wire.RoleReplica, 1, following(one), withPeers(one, three))
	three.assign(wire.RoleReplica, 1, following(one), withPeers(one, two))
	server := one.serverPID()
	before, serverBefore := cpuOf(t, process.Pid), cpuOf(t, server)
	const span = 5 * time.Second
	time.Sleep(span) // lets the agent work for a while: heartbeats, polls, peer calls
	used, serverUsed := cpuOf(t, process.Pid)-before, cpuOf(t, server)-serverBefore
	resident, anonymous := statusOf(t, process.Pid, "VmRSS"), statusOf(t, process.Pid, "RssAnon")
	share := func(d time.Duration) float64 { return 100 * d.Seconds() / span.Seconds() }
	t.Logf("resident %d kB, of it anonymous %d kB; %.2f %% of a core, its idle server %.2f %%", resident, anonymous, share(used), share(serverUsed))
	if limit := 15 * 1024; resident > limit {
		t.Errorf("the agent has %d kB of memory, more than %d kB", resident, limit)
	}
}

// cpuOf is the time that a process has used, of all its threads.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var used time.Duration
	for _, thread := range threads {
		// A thread that has just ended is missed.
		if b, err := os.ReadFile(thread); err == nil {
			used += time.Duration(number(t, strings.Fields(string(b))[0]))
		}
	}
	return used
}
