package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Group is the control group that a machine lives in.
type Group interface {
	Join(name string, pid int) error
}

// Launch describes how to start a machine.
type Launch struct {
	Machine Machine
	// Dir takes the description, the record of the process and its log.
	Dir string
	// Self is this binary; Args make it call Init with the description, whose
	// path is appended.
	Self string
	Args []string
	// Namespace is the network namespace to be born in; empty is the host's.
	Namespace string
	Group     Group
}

// IdentityFile is where Launch records the first process of a machine.
func IdentityFile(dir string) string { return filepath.Join(dir, "init.pid") }

// Start starts the machine and returns when its first process runs in its
// control group. The machine outlives the caller.
func (l Launch) Start(in func(path string, work func() error) error) error {
	spec := filepath.Join(l.Dir, "machine.json")
	if err := l.Machine.Write(spec); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(l.Dir, "init.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", l.Machine.Name, err)
	}
	defer log.Close()
	// The child waits for a byte on this pipe, so that nothing of it runs
	// outside its control group.
	ready, release, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer ready.Close()
	defer release.Close()
	cmd := exec.Command(l.Self, append(append([]string{}, l.Args...), spec)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ready, log, log
	cmd.Dir = "/"
	cmd.SysProcAttr = l.attributes()
	start := cmd.Start
	if l.Namespace != "" {
		start = func() error { return in(l.Namespace, cmd.Start) }
	}
	if err := start(); err != nil {
		return fmt.Errorf("start %s: %w", l.Machine.Name, err)
	}
	return l.admit(cmd, release)
}

func (l Launch) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if l.Namespace != "" {
		attr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS
	}
	return attr
}

func (l Launch) admit(cmd *exec.Cmd, release *os.File) error {
	pid := cmd.Process.Pid
	err := l.Group.Join(l.Machine.Name, pid)
	if err == nil {
		var id Identity
		if id, err = Identify(pid); err == nil {
			err = id.Save(IdentityFile(l.Dir))
		}
	}
	if err == nil {
		_, err = release.Write([]byte{'\n'})
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_, wait := cmd.Process.Wait()
		return errors.Join(fmt.Errorf("admit %s: %w", l.Machine.Name, err), wait)
	}
	// Nobody waits for it from here on: it belongs to the system.
	return cmd.Process.Release()
}
