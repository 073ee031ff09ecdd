package main

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// clock goes on by a second each time it is read.
func clock() func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time { now = now.Add(time.Second); return now }
}

func TestStepsWithoutATerminal(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := map[string]struct {
		work func(*step) (string, error)
		want []string
		err  error
	}{
		"a step that ends well says what was done": {
			func(*step) (string, error) { return "made it", nil }, []string{"  ✓ made it"}, nil,
		},
		"a step that fails is named": {
			func(*step) (string, error) { return "made it", broken }, []string{"  ✗ make it"}, broken,
		},
		"a note is shown once": {
			func(st *step) (string, error) {
				st.says("%d ready", 1)
				st.says("%d ready", 1)
				st.says("%d ready", 2)
				return "made it", nil
			}, []string{"    … 1 ready", "    … 2 ready", "  ✓ made it"}, nil,
		},
		"of a talkative tool only a sign of life is shown": {
			func(st *step) (string, error) {
				for range 50 { // Seconds, by the clock of the test.
					st.hears("compiling")
				}
				return "made it", nil
			}, []string{"    … compiling", "    … compiling", "  ✓ made it"}, nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &strings.Builder{}
			s := &screen{out: out, now: clock()}
			if err := s.do("make it", c.work); !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("got %d lines, want %d:\n%s", len(lines), len(c.want), out)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
				}
			}
			if strings.Contains(out.String(), "\033") {
				t.Errorf("escape sequences without a terminal: %q", out)
			}
		})
	}
}

func TestRunningStepFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1, 20, 40, 80, 200} {
		s := &screen{width: func() int { return width }}
		got := s.running("bring up", strings.Repeat("ä long line ", 30), 3) + " " + brief(11*time.Minute)
		// Below the sign and the time nothing can be cut, and only a panic would be wrong.
		if n := utf8.RuneCountInString(got); n >= width && width > 1 {
			t.Errorf("%d columns on a terminal of %d: %q", n, width, got)
		}
	}
}

func TestBriefDurations(t *testing.T) {
	t.Parallel()
	cases := map[time.Duration]string{
		84 * time.Millisecond:   "  84 ms",
		4100 * time.Millisecond: "  4.1 s",
		125 * time.Second:       "   2m05s",
	}
	for d, want := range cases {
		if got := brief(d); got != want {
			t.Errorf("brief(%s) = %q, want %q", d, got, want)
		}
	}
}
