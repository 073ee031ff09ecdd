package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Servers are the names of the database servers' processes.
func Servers() []string { return []string{"redis-server", "valkey-server"} }

// ErrNone says that a pod has no such process on this machine.
var ErrNone = errors.New("no such process on this machine")

// poll is how often a process is looked at while a signal takes effect.
const poll = time.Millisecond

// patience bounds the wait for a signal to take effect.
const patience = 5 * time.Second

// Process is one process, told apart from a later one with the same number by its start time.
type Process struct {
	PID   int
	Name  string
	start uint64
	proc  procfs.Proc
}

// Find returns the processes of a pod with one of the names, oldest first.
func Find(podUID string, names ...string) ([]Process, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Process
	for _, proc := range all {
		if !inPod(proc, podUID) {
			continue
		}
		stat, err := proc.Stat()
		if err != nil {
			continue // It ended while we were looking.
		}
		if len(names) == 0 || slices.Contains(names, stat.Comm) {
			found = append(found, Process{PID: proc.PID, Name: stat.Comm, start: stat.Starttime, proc: proc})
		}
	}
	slices.SortFunc(found, func(a, b Process) int { return int(a.start) - int(b.start) })
	return found, nil
}

// Server returns the database server of a pod.
func Server(podUID string) (Process, error) {
	found, err := Find(podUID, Servers()...)
	if err != nil {
		return Process{}, err
	}
	if len(found) == 0 {
		return Process{}, fmt.Errorf("database server of pod %s: %w", podUID, ErrNone)
	}
	return found[0], nil // A child that writes a snapshot is younger than the server.
}

// inPod says whether a process is in a control group of the pod. The systemd driver writes the
// UID with underscores.
func inPod(proc procfs.Proc, podUID string) bool {
	groups, err := proc.Cgroups()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(groups, func(g procfs.Cgroup) bool {
		return strings.Contains(g.Path, "pod"+podUID) ||
			strings.Contains(g.Path, "pod"+strings.ReplaceAll(podUID, "-", "_"))
	})
}

// Kill sends SIGKILL and returns once the process is gone.
func (p Process) Kill(ctx context.Context) error {
	return p.signal(ctx, syscall.SIGKILL, func(state string) bool { return state == "" || state == "Z" })
}

// Freeze sends SIGSTOP and returns once the process stands still.
func (p Process) Freeze(ctx context.Context) error {
	return p.signal(ctx, syscall.SIGSTOP, func(state string) bool { return state == "T" })
}

// Thaw sends SIGCONT and returns once the process runs again or is gone.
func (p Process) Thaw(ctx context.Context) error {
	return p.signal(ctx, syscall.SIGCONT, func(state string) bool { return state != "T" })
}

func (p Process) signal(ctx context.Context, s syscall.Signal, done func(state string) bool) error {
	if p.state() == "" {
		return fmt.Errorf("%s (pid %d) is gone already: %w", p.Name, p.PID, ErrNone)
	}
	if err := syscall.Kill(p.PID, s); err != nil {
		return fmt.Errorf("send %s to %s (pid %d): %w", s, p.Name, p.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for !done(p.state()) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s had no effect on %s (pid %d): %w", s, p.Name, p.PID, ctx.Err())
		case <-ticker.C:
		}
	}
	return nil
}

// Alive says whether this very process still exists.
func (p Process) Alive() bool { s := p.state(); return s != "" && s != "Z" }

// state is the kernel's letter for the state, empty if the process is gone.
func (p Process) state() string {
	stat, err := p.proc.Stat()
	if err != nil || stat.Starttime != p.start {
		return ""
	}
	return stat.State
}

// Memory of a process, in bytes.
type Memory struct{ Resident, Anonymous uint64 }

// Memory returns what the process holds in memory now.
func (p Process) Memory() (Memory, error) {
	status, err := p.proc.NewStatus()
	if err != nil {
		return Memory{}, fmt.Errorf("memory of %s (pid %d): %w", p.Name, p.PID, err)
	}
	return Memory{Resident: status.VmRSS, Anonymous: status.RssAnon}, nil
}

// CPU is the processor time that the process has used.
func (p Process) CPU() (time.Duration, error) {
	stat, err := p.proc.Stat()
	if err != nil {
		return 0, fmt.Errorf("processor time of %s (pid %d): %w", p.Name, p.PID, err)
	}
	return time.Duration(stat.CPUTime() * float64(time.Second)), nil
}

// Words are the arguments and the environment, where no secret may be.
func (p Process) Words() (string, error) {
	arguments, err := p.proc.CmdLine()
	if err != nil {
		return "", fmt.Errorf("arguments of %s (pid %d): %w", p.Name, p.PID, err)
	}
	environment, err := p.proc.Environ()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("environment of %s (pid %d): %w", p.Name, p.PID, err)
	}
	return strings.Join(append(arguments, environment...), "\n"), nil
}
