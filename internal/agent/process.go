package agent

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a running server. It leads a process group of its own, so that a kill also reaches
// the children it forks to write its files: a child that outlives the server could still replace
// a file under the next one.
type process struct {
	cmd  *exec.Cmd
	tail *tail
}

// startProcess starts a server whose output goes to out. The end of what it writes is kept: a server
// that cannot start says there why, some versions on the standard output.
func startProcess(c Command, out io.Writer) (*process, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer writer.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Stdout = writer
	cmd.Stderr = writer
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		reader.Close()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	t := &tail{done: make(chan struct{})}
	go t.copy(reader, out)
	return &process{cmd: cmd, tail: t}, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the server and its children at once. The pid is not reused before wait has returned.
func (p *process) kill() { _ = unix.Kill(-p.pid(), unix.SIGKILL) }

// wait returns how the server ended, for people.
func (p *process) wait() string {
	// Not cmd.Wait: it would wait for children that still hold the pipe.
	state, err := p.cmd.Process.Wait()
	p.kill()
	p.reapGroup()
	if err != nil {
		return err.Error()
	}
	if !state.Exited() || state.Success() {
		// What a server that was killed wrote before says nothing about its end.
		return state.String()
	}
	select {
	case <-p.tail.done:
	case <-time.After(lastWordsWithin): // a child that got away may hold the pipe
	}
	if last := p.tail.last(); last != "" {
		return state.String() + ": " + last
	}
	return state.String()
}

// reapGroup takes the children that the server left to this process, if it is their reaper.
func (p *process) reapGroup() {
	for {
		var status unix.WaitStatus
		if _, err := unix.Wait4(-p.pid(), &status, 0, nil); err != nil && err != unix.EINTR {
			return
		}
	}
}

// tail passes on what a server writes and keeps the end of it.
type tail struct {
	done chan struct{}

	mu   sync.Mutex
	text []byte
}

const tailSize = 300

// lastWordsWithin bounds how long the end of the output is waited for.
const lastWordsWithin = 200 * time.Millisecond

func (t *tail) copy(from io.ReadCloser, to io.Writer) {
	defer close(t.done)
	defer from.Close()
	_, _ = io.Copy(io.MultiWriter(to, t), from)
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(b), nil
}

// last is the end of the text on one line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(bytes.ToValidUTF8(t.text, nil))), " ")
}
