package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// remembered is how many lines of a tool's output are shown when it fails.
const remembered = 20

// make runs a target of the Makefile and shows its last line while it runs, and its end if it fails.
func (d *demo) make(ctx context.Context, st *step, targets ...string) error {
	cmd := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory"}, targets...)...)
	cmd.Dir = d.repository
	// An interrupted build gets the time to clear away what it made by half.
	const grace = 10 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	heard := make(chan []string, 1)
	go func() { heard <- listen(out, st.hears) }()
	err := cmd.Run()
	_ = in.Close() // It only ends the reader.
	lines := <-heard
	if err == nil {
		return nil
	}
	d.failed = lines
	return fmt.Errorf("make %s: %w", strings.Join(targets, " "), err)
}

// listen hands on each line and returns the last ones.
func listen(r io.Reader, hear func(string)) []string {
	var last []string
	lines := bufio.NewScanner(r)
	const longest = 1 << 20
	lines.Buffer(nil, longest)
	for lines.Scan() {
		hear(lines.Text())
		last = append(last, lines.Text())
		if len(last) > remembered {
			last = last[1:]
		}
	}
	// After a line that is too long nobody would read on, and the tool would block on its output.
	_, _ = io.Copy(io.Discard, r)
	return last
}
