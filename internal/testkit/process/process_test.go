package process

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// sleeper starts a process of our own and wraps it as if it had been found in a pod.
func sleeper(t *testing.T) Process {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	proc, err := procfs.NewProc(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := proc.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return Process{PID: proc.PID, Name: stat.Comm, start: stat.Starttime, proc: proc}
}

func TestFreezeThawAndKillAreProven(t *testing.T) {
	t.Parallel()
	p := sleeper(t)
	if err := p.Freeze(t.Context()); err != nil || p.state() != "T" {
		t.Fatalf("freeze: %v, state %q", err, p.state())
	}
	if err := p.Thaw(t.Context()); err != nil || p.state() == "T" {
		t.Fatalf("thaw: %v, state %q", err, p.state())
	}
	if err := p.Kill(t.Context()); err != nil || p.Alive() {
		t.Fatalf("kill: %v, alive %t", err, p.Alive())
	}
}

func TestSuccessorWithTheSameNumberIsNotTouched(t *testing.T) {
	t.Parallel()
	p := sleeper(t)
	stranger := p
	stranger.start++
	if err := stranger.Kill(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("got %v, want %v", err, ErrNone)
	}
	if !p.Alive() {
		t.Error("the process was killed in place of another one")
	}
}

func TestPodWithoutProcessesSaysSo(t *testing.T) {
	t.Parallel()
	if _, err := Server("00000000-0000-0000-0000-000000000000"); !errors.Is(err, ErrNone) {
		t.Errorf("got %v, want %v", err, ErrNone)
	}
}

func TestMemoryTimeAndWordsAreRead(t *testing.T) {
	t.Parallel()
	p := sleeper(t)
	deadline := time.Now().Add(5 * time.Second)
	words, err := p.Words()
	// Until the child has replaced its image, it still has our own arguments.
	for err == nil && !strings.HasPrefix(words, "sleep\n60") && time.Now().Before(deadline) {
		words, err = p.Words()
	}
	if err != nil || !strings.HasPrefix(words, "sleep\n60") {
		t.Errorf("words %q, %v", words, err)
	}
	if m, err := p.Memory(); err != nil || m.Resident == 0 {
		t.Errorf("memory %+v, %v", m, err)
	}
	if _, err := p.CPU(); err != nil {
		t.Error(err)
	}
}
