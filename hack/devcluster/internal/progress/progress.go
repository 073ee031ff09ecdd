package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// labelWidth lines the times up in one column.
const labelWidth = 46

// tick is how often a running step's clock is redrawn on a terminal.
const tick = time.Second

// Reporter prints steps to one writer.
type Reporter struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	now      func() time.Time
}

// New makes a Reporter; the clock is an argument so that tests need not wait.
func New(out io.Writer, now func() time.Time) *Reporter {
	return &Reporter{out: out, terminal: isTerminal(out), now: now}
}

// Step runs work and prints one line with its outcome and duration. The error
// is the one that work returned.
func (r *Reporter) Step(label string, work func() error) error {
	start := r.now()
	stop := r.animate(label, start)
	err := work()
	stop()
	mark := "✓"
	if err != nil {
		mark = "✗"
	}
	r.line("  %s %s %s", mark, pad(label), Duration(r.now().Sub(start)))
	return err
}

// Note prints a line that is not a step.
func (r *Reporter) Note(format string, args ...any) {
	r.line(format, args...)
}

func (r *Reporter) line(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.terminal {
		fmt.Fprint(r.out, "\r\033[K")
	}
	fmt.Fprintf(r.out, format+"\n", args...)
}

// animate shows a running clock until the returned function is called. It does
// nothing if the output is no terminal.
func (r *Reporter) animate(label string, start time.Time) (stop func()) {
	if !r.terminal {
		return func() {}
	}
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			r.redraw(label, r.now().Sub(start))
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() { close(done); <-finished }
}

func (r *Reporter) redraw(label string, elapsed time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "\r\033[K  … %s %s", pad(label), Duration(elapsed))
}

// Duration prints a time the way people read it: 0.3s, 12.4s, 6m41s.
func Duration(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

func pad(label string) string {
	width := len([]rune(label))
	if width >= labelWidth {
		return label
	}
	return fmt.Sprintf("%s%*s", label, labelWidth-width, "")
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
