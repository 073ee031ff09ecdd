package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	// column is where the time of a finished step begins.
	column = 60
	// redraw is how often the running step is drawn again on a terminal.
	redraw = 100 * time.Millisecond
	// chatter is how often a line of a tool's output is shown where there is no terminal.
	chatter = 20 * time.Second
)

// Colours of a terminal.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

// screen prints the demo: finished steps as lines, and on a terminal the running step in place.
type screen struct {
	out io.Writer
	now func() time.Time
	// width of the terminal; nil where there is none.
	width func() int
	// colour is off without a terminal and with NO_COLOR.
	colour bool
}

func newScreen(f *os.File) *screen {
	s := &screen{out: f, now: time.Now}
	fd := int(f.Fd())
	if !term.IsTerminal(fd) {
		return s
	}
	s.colour = os.Getenv("NO_COLOR") == ""
	s.width = func() int {
		const usual = 80
		width, _, err := term.GetSize(fd)
		if err != nil || width <= 0 {
			return usual
		}
		return width
	}
	return s
}

// line prints a line.
func (s *screen) line(format string, arguments ...any) {
	fmt.Fprintf(s.out, format+"\n", arguments...)
}

// heading prints what comes next, after an empty line.
func (s *screen) heading(text string) { s.line("\n%s", s.paint(bold, text)) }

// block prints a text of several lines, set off to the right.
func (s *screen) block(text string) {
	for line := range strings.Lines(text) {
		s.line("      %s", s.paint(dim, strings.TrimRight(line, "\n")))
	}
}

func (s *screen) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return "\033[" + colour + "m" + text + "\033[0m"
}

// step is one that runs.
type step struct {
	screen  *screen
	name    string
	started time.Time
	ended   chan struct{}

	mu      sync.Mutex
	note    string
	printed time.Time
}

// do runs a step. It ends as one line: what work says was done, and how long it took.
func (s *screen) do(name string, work func(*step) (done string, err error)) error {
	st := &step{screen: s, name: name, started: s.now(), printed: s.now(), ended: make(chan struct{})}
	var drawing sync.WaitGroup
	if s.width != nil {
		drawing.Go(st.draw)
	}
	done, err := work(st)
	close(st.ended)
	drawing.Wait()
	if s.width != nil {
		fmt.Fprint(s.out, "\r\033[K")
	}
	sign, text := s.paint(green, "✓"), done
	if err != nil {
		sign, text = s.paint(red, "✗"), name
	}
	s.line("  %s %s %s", sign, pad(text, column), brief(s.now().Sub(st.started)))
	return err
}

// says shows how far the step is. Without a terminal each new note is a line.
func (st *step) says(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	st.mu.Lock()
	defer st.mu.Unlock()
	if text != st.note && st.screen.width == nil {
		st.screen.line("    … %s", text)
	}
	st.note = text
}

// hears shows a line of a tool's output. Without a terminal only now and then, as a sign of life.
func (st *step) hears(line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.note = line
	if now := st.screen.now(); st.screen.width == nil && now.Sub(st.printed) >= chatter {
		st.printed = now
		st.screen.line("    … %s", line)
	}
}

func (st *step) draw() {
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for frame := 0; ; frame++ {
		st.mu.Lock()
		note := st.note
		st.mu.Unlock()
		fmt.Fprint(st.screen.out, "\r\033[K"+st.screen.running(st.name, note, frame)+" "+brief(st.screen.now().Sub(st.started)))
		select {
		case <-st.ended:
			return
		case <-ticker.C:
		}
	}
}

// running is the line of the running step without its time, cut so that both fit the terminal.
func (s *screen) running(name, note string, frame int) string {
	const rest = len("  x    10m00s ")
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	text := name
	if note != "" {
		text += ": " + note
	}
	room := max(0, s.width()-rest)
	return "  " + s.paint(cyan, string(frames[frame%len(frames)])) + " " + pad(cut(text, room), min(column, room))
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(0, width-1)]) + "…"
}

// brief is a duration for people, seven wide: 84 ms, 4.1 s, 2m05s.
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%4d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%5.1f s", d.Seconds())
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%4dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}
