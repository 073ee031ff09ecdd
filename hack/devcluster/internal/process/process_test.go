package process

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// patience is how long a condition may take; polling ends as soon as it holds.
const patience = 10 * time.Second

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after %s", what, patience)
		}
		time.Sleep(5 * time.Millisecond) // polls the condition
	}
}

func TestAMachineIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := Machine{
		Name: "hf-n1", Hostname: "n1",
		Mounts: []Mount{{Source: "tmpfs", Target: "/run", Kind: "tmpfs"}},
		Units:  []Unit{{Name: "a", Argv: []string{"/bin/a", "-b"}, Env: []string{"C=d"}, Log: "/l", Needs: []string{"/s"}}},
	}
	path := filepath.Join(t.TempDir(), "machine.json")
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadMachine(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
}

func TestStartTimeIsReadFromStat(t *testing.T) {
	t.Parallel()
	rest := strings.Repeat("0 ", startField-1) + "4711 0 0"
	cases := map[string]struct {
		stat string
		want uint64
	}{
		"a plain name":                    {"12 (sleep) S " + rest, 4711},
		"a name with blanks and brackets": {"12 (a) b (c) S " + rest, 4711},
		"a process that has ended":        {"12 (sleep) Z " + rest, 0},
		"something that is too short":     {"12 (sleep) S 1 2", 0},
		"something without a name":        {"12 sleep", 0},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got, err := parseStart(c.stat)
			if got != c.want || (err == nil) != (c.want != 0) {
				t.Fatalf("parseStart = %d, %v; want %d", got, err, c.want)
			}
		})
	}
}

func TestAnIdentityEndsWithItsProcess(t *testing.T) {
	// Not parallel: the supervisor's test collects every child of this process.
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pid")
	if err := id.Save(path); err != nil {
		t.Fatal(err)
	}
	if loaded, alive := LoadIdentity(path); !alive || loaded != id {
		t.Fatalf("LoadIdentity = %v, %t", loaded, alive)
	}
	if other := (Identity{PID: id.PID, Start: id.Start + 1}); other.Alive() {
		t.Error("another process of the same number counts as this one")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process has ended, though nobody has collected it", func() bool { return !id.Alive() })
	_ = cmd.Wait()
}

func TestUnitsAreStartedAgainAndWaitForWhatTheyNeed(t *testing.T) {
	dir := t.TempDir()
	runs, late, need := filepath.Join(dir, "runs"), filepath.Join(dir, "late"), filepath.Join(dir, "need")
	shell := func(name, script string, needs ...string) Unit {
		return Unit{
			Name: name, Argv: []string{"/bin/sh", "-c", script},
			Env: []string{"PATH=" + SystemPath}, Log: filepath.Join(dir, name+".log"), Needs: needs,
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- newSupervisor([]Unit{
			shell("short", "echo run >> "+runs),
			shell("late", "echo late >> "+late+"; exec sleep 600", need),
		}).run(ctx)
	}()
	lines := func(path string) int {
		content, _ := os.ReadFile(path)
		return strings.Count(string(content), "\n")
	}
	eventually(t, "a unit that ends is started again", func() bool { return lines(runs) >= 2 })
	if lines(late) != 0 {
		t.Error("a unit was started before what it needs was there")
	}
	if err := os.WriteFile(need, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the unit starts when what it needs is there", func() bool { return lines(late) == 1 })
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestWhatAUnitNeeds(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "tcp://" + listener.Addr().String()
	dir := t.TempDir()
	if !allThere([]string{dir, address}) {
		t.Error("what is there is not found")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if there(address) {
		t.Error("an address that nobody listens on counts as there")
	}
	if allThere([]string{dir, filepath.Join(dir, "missing")}) {
		t.Error("a path that is missing counts as there")
	}
}

func TestAProcessWaitsForItsPermit(t *testing.T) {
	t.Parallel()
	if err := WaitAdmitted(strings.NewReader("\n")); err != nil {
		t.Error(err)
	}
	if err := WaitAdmitted(strings.NewReader("")); err == nil {
		t.Error("the launcher went away and the machine starts all the same")
	}
}
