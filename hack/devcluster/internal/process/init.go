package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// restartDelay keeps a unit that dies at once from spinning.
	restartDelay = 500 * time.Millisecond
	// needsPoll is how often what a unit needs is looked for.
	needsPoll = 20 * time.Millisecond
	// needsPatience is when a unit is started without what it needs: its own
	// error then says what is wrong.
	needsPatience = 30 * time.Second
)

// WaitAdmitted blocks until Launch has put this process into its control group.
func WaitAdmitted(stdin io.Reader) error {
	var permit [1]byte
	if _, err := io.ReadFull(stdin, permit[:]); err != nil {
		return fmt.Errorf("wait to be admitted: %w", err)
	}
	return nil
}

// Init is the first process of a machine in namespaces of its own. It returns
// only if the machine cannot be set up or the context ends.
func Init(ctx context.Context, m Machine) error {
	if err := unix.Sethostname([]byte(m.Hostname)); err != nil {
		return fmt.Errorf("set host name %s: %w", m.Hostname, err)
	}
	if err := mountAll(m.Mounts); err != nil {
		return err
	}
	return newSupervisor(m.Units).run(ctx)
}

func mountAll(mounts []Mount) error {
	// First private, so that nothing reaches the host; then shared among the
	// machine's own, so that the kubelet's mounts reach the pods that ask.
	for _, propagation := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", propagation|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("set the propagation of mounts: %w", err)
		}
	}
	for _, mount := range mounts {
		flags, kind := uintptr(0), mount.Kind
		if kind == "bind" {
			flags, kind = unix.MS_BIND, ""
		}
		if err := unix.Mount(mount.Source, mount.Target, kind, flags, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", mount.Source, mount.Target, err)
		}
		if err := unix.Mount("", mount.Target, "", unix.MS_SHARED, ""); err != nil {
			return fmt.Errorf("share %s: %w", mount.Target, err)
		}
	}
	return nil
}

// supervisor starts units and keeps them running. All its state is touched by
// one goroutine only.
type supervisor struct {
	units    []Unit
	running  map[int]Unit
	starts   chan Unit
	children chan os.Signal
}

func newSupervisor(units []Unit) *supervisor {
	return &supervisor{
		units:    units,
		running:  map[int]Unit{},
		starts:   make(chan Unit, len(units)),
		children: make(chan os.Signal, 1),
	}
}

func (s *supervisor) run(ctx context.Context) error {
	signal.Notify(s.children, syscall.SIGCHLD)
	defer signal.Stop(s.children)
	for _, unit := range s.units {
		s.schedule(ctx, unit, 0)
	}
	for {
		select {
		case <-ctx.Done():
			s.terminate()
			return nil
		case unit := <-s.starts:
			s.start(ctx, unit)
		case <-s.children:
			for _, unit := range s.reap() {
				s.schedule(ctx, unit, restartDelay)
			}
		}
	}
}

// schedule hands a unit back to the loop when its time has come and what it
// needs is there.
func (s *supervisor) schedule(ctx context.Context, unit Unit, delay time.Duration) {
	go func() {
		if !sleep(ctx, delay) {
			return
		}
		deadline := time.Now().Add(needsPatience)
		for !allThere(unit.Needs) && time.Now().Before(deadline) {
			if !sleep(ctx, needsPoll) {
				return
			}
		}
		select {
		case s.starts <- unit:
		case <-ctx.Done():
		}
	}()
}

func (s *supervisor) start(ctx context.Context, unit Unit) {
	pid, err := unit.spawn()
	if err != nil {
		report("start %s: %v", unit.Name, err)
		s.schedule(ctx, unit, restartDelay)
		return
	}
	report("%s runs as process %d", unit.Name, pid)
	s.running[pid] = unit
}

// reap collects every child that has ended, orphans included, and returns the
// units among them.
func (s *supervisor) reap() []Unit {
	var ended []Unit
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return ended
		}
		unit, ours := s.running[pid]
		if !ours {
			continue
		}
		report("%s (process %d) ended: exit code %d, signal %d", unit.Name, pid, status.ExitStatus(), status.Signal())
		delete(s.running, pid)
		ended = append(ended, unit)
	}
}

func (s *supervisor) terminate() {
	for pid := range s.running {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
}

// spawn starts the unit without os/exec: its Wait would race with reap.
func (u Unit) spawn() (int, error) {
	log, err := os.OpenFile(u.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	defer null.Close()
	if !filepath.IsAbs(u.Argv[0]) {
		return 0, fmt.Errorf("%s is no absolute path", u.Argv[0])
	}
	return syscall.ForkExec(u.Argv[0], u.Argv, &syscall.ProcAttr{
		Dir:   "/",
		Env:   u.Env,
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

func report(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().UTC().Format(time.RFC3339Nano)+" "+format+"\n", args...)
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func allThere(needs []string) bool {
	for _, need := range needs {
		if !there(need) {
			return false
		}
	}
	return true
}

func there(need string) bool {
	address, isAddress := strings.CutPrefix(need, "tcp://")
	if !isAddress {
		_, err := os.Stat(need)
		return err == nil
	}
	conn, err := net.DialTimeout("tcp", address, needsPatience)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
