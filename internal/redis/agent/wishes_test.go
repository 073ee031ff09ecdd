package agent_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol/realserver"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

func withParameters(parameters map[string]string) change {
	return func(_ *wire.Assignment, w *facts.Wishes) {
		for name, value := range parameters {
			w.Parameters[name] = value
		}
	}
}

func withPasswords(passwords ...string) change {
	return func(_ *wire.Assignment, w *facts.Wishes) {
		w.Users[0].PasswordHashes = nil
		for _, p := range passwords {
			w.Users[0].PasswordHashes = append(w.Users[0].PasswordHashes, digest(p))
		}
	}
}

// value asks the server for a setting.
func (m *member) value(name string) string {
	m.w.t.Helper()
	got, err := m.client().ConfigGet(m.w.t.Context(), name).Result()
	if err != nil {
		m.w.t.Fatal(err)
	}
	return got[name]
}

func TestSettingsChangeLiveAndInTheFile(t *testing.T) {
	t.Parallel()
	realserver.Each(t, func(t *testing.T, p realserver.Program) {
		t.Parallel()
		w := newWorld(t, p)
		m := w.start("shop-0")
		wished := map[string]string{
			"maxmemory": "64mb", "maxmemory-policy": "AllKeys-LRU", "save": "3600 1 300 100", "notify-keyspace-events": "KEA",
			"client-output-buffer-limit": "replica 512mb 64mb 60", "hz": "20",
		}
		m.assign(wire.RolePrimary, 1, withParameters(wished))
		seen := func(when string) {
			t.Helper()
			for name, want := range map[string]string{
				"maxmemory": "67108864", "maxmemory-policy": "allkeys-lru", "save": "3600 1 300 100", "notify-keyspace-events": "AKE",
				"client-output-buffer-limit": "normal 0 0 0 slave 536870912 67108864 60 pubsub 33554432 8388608 60",
			} {
				if got := m.value(name); got != want {
					t.Errorf("%s: %s is %q", when, name, got)
				}
			}
		}
		seen("from the file")

		pid := m.serverPID()
		wished["maxmemory"], wished["timeout"] = "128mb", "77"
		m.assign(wire.RolePrimary, 1, withParameters(wished))
		if m.value("maxmemory") != "134217728" || m.value("timeout") != "77" || m.serverPID() != pid {
			t.Error("not changed live")
		}

		// One that is refused takes the others of the same assignment with it, and heals.
		wished["maxmemory-policy"], wished["timeout"] = "no-such-policy", "78"
		r, err := m.order(http.MethodPut, wire.PathAssignment, w.assignment(wire.RolePrimary, 1, withParameters(wished)))
		if err != nil {
			t.Fatal(err)
		}
		if r.AssignmentDigest != "" || !strings.Contains(r.AssignmentError, "maxmemory-policy") || factsOf(r).ConfigErrors["maxmemory-policy"] == "" {
			t.Errorf("record %+v", r)
		}
		if m.value("timeout") != "77" || !ready(t, m) {
			t.Error("a refused setting changed others, or the readiness")
		}
		wished["maxmemory"], wished["maxmemory-policy"], wished["timeout"] = "64mb", "allkeys-lru", "77"
		m.assign(wire.RolePrimary, 1, withParameters(wished))
		seen("healed")

		// The next server starts with the newest wishes.
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		m.await("the restart", 10*time.Second, func(r wire.Record) bool {
			return r.Server.Instance == 2 && r.Server.Phase == wire.ServerRunning
		})
		seen("after a restart")
		if m.value("timeout") != "77" {
			t.Errorf("timeout %s after a restart", m.value("timeout"))
		}
	})
}

func TestAPasswordChangesUnderConnectedClients(t *testing.T) {
	t.Parallel()
	realserver.Each(t, func(t *testing.T, p realserver.Program) {
		t.Parallel()
		w := newWorld(t, p)
		primary, replica := w.pair()
		both := func(passwords ...string) {
			t.Helper()
			replica.assign(wire.RoleReplica, 1, following(primary), withPeers(primary), withPasswords(passwords...))
			primary.assign(wire.RolePrimary, 1, withPeers(replica), withPasswords(passwords...))
		}
		old := primary.client()
		write := func(c protocolClient, value string) {
			t.Helper()
			if _, err := c.do("SET", "a", value); err != nil {
				t.Errorf("write %s: %v", value, err)
			}
		}
		write(old, "1")
		both("new", password)
		write(old, "2")
		write(primary.client(), "3")
		renewed := dialClient(t, old.Options().Addr, "new")
		write(renewed, "4")
		both("new")
		write(old, "5") // its connection was there before
		write(renewed, "6")
		if _, err := primary.client().do("PING"); err == nil {
			t.Error("the old password still lets in")
		}
		if got := factsOf(primary.latest().Record).PasswordsAccepted; len(got) != 1 || got[0] != digest("new") {
			t.Errorf("accepted %v", got)
		}
		if r := replica.latest(); !factsOf(r.Record).LinkUp {
			t.Errorf("the link broke: %+v", factsOf(r.Record))
		}
	})
}

func TestTheReplicationPasswordChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	primary, replica := w.pair()
	next := func(_ *wire.Assignment, wishes *facts.Wishes) {
		wishes.Users[1].PasswordHashes = []string{digest("next")}
		wishes.ReplicationPassword = "next"
	}
	primary.assign(wire.RolePrimary, 1, withPeers(replica), next)
	replica.assign(wire.RoleReplica, 1, following(primary), withPeers(primary), next)
	// The password counts when the link is made anew.
	replica.assign(wire.RoleHeld, 1, withPeers(primary), next)
	replica.assign(wire.RoleReplica, 1, following(primary), withPeers(primary), next)
	replica.awaitLink()
	if f := factsOf(primary.await("the replica", 5*time.Second, func(r wire.Record) bool { return len(factsOf(r).Replicas) == 1 }).Record); f.SyncFull != 1 {
		t.Errorf("the link was made by a full synchronisation: %+v", f)
	}
}

func TestWhatTheDataDirectoryClaims(t *testing.T) {
	t.Parallel()
	realserver.Each(t, func(t *testing.T, p realserver.Program) {
		t.Parallel()
		for name, parameters := range map[string]map[string]string{
			"append-only file": {"appendonly": "yes"},
			"snapshot":         {"save": "3600 1"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, p)
				// A snapshot only has the lineage of a primary that ever had a replica.
				m, _ := w.pair()
				m.assign(wire.RolePrimary, 1, withParameters(parameters))
				if _, err := m.client().do("SET", "a", "1"); err != nil {
					t.Fatal(err)
				}
				lived := m.await("the write", 5*time.Second, func(r wire.Record) bool { return factsOf(r).Keys == 1 })
				m.end()
				m = w.startOn("shop-0", m.dir, m.redisPort)
				waiting := m.await("the claim", 5*time.Second, func(r wire.Record) bool { return r.Engine != nil })
				stored := factsOf(waiting.Record).Stored
				want := factsOf(lived.Record)
				if stored == nil || stored.ReplID != want.ReplID || stored.Offset < want.Offset || stored.Keys != 1 || !stored.WasPrimary || stored.Epoch != 1 {
					t.Fatalf("claims %+v, want %+v", stored, want)
				}
				held := factsOf(m.assign(wire.RoleHeld, 1, withParameters(parameters)))
				if held.Keys != 1 || held.Stored == nil || *held.Stored != *stored || !held.Unjoined {
					t.Errorf("held: %+v, stored %+v", held, held.Stored)
				}
				if name == "snapshot" && held.ReplID != want.ReplID {
					t.Errorf("the snapshot's lineage %s became %s", want.ReplID, held.ReplID)
				}
			})
		}
	})
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	m := w.start("shop-0")
	bad := w.assignment(wire.RoleHeld, 1, withParameters(map[string]string{"no-such-setting": "1"}))
	if _, err := m.order(http.MethodPut, wire.PathAssignment, bad); err != nil {
		t.Fatal(err)
	}
	r := m.await("the reason", 5*time.Second, func(r wire.Record) bool { return r.Server.Phase == wire.ServerDown })
	if !strings.Contains(r.Server.LastExit, "exit status 1") || !strings.Contains(r.Server.LastExit, "no-such-setting") {
		t.Errorf("last exit %q", r.Server.LastExit)
	}
	// Taken back, it heals.
	m.assign(wire.RoleHeld, 1)
}

func TestNoSecretIsInTheAgentsFilesOrProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realserver.Any(t))
	m, process := w.startProcess("shop-0")
	m.assign(wire.RolePrimary, 1)
	for _, pid := range []int{process.Pid, m.serverPID()} {
		for _, file := range []string{"cmdline", "environ"} {
			b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{password, digest(password), digest("link")} {
				if strings.Contains(string(b), secret) {
					t.Errorf("%s of process %d has a secret", file, pid)
				}
			}
		}
	}
	err := filepath.Walk(m.dataDir(), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), password) || strings.Contains(string(b), digest(password)) {
			t.Errorf("%s has a secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
