package steps_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/steps"
)

type diary struct{ entries []string }

func step(name string, outcome steps.Outcome, err error) steps.Step[*diary] {
	return steps.Step[*diary]{Name: name, Run: func(_ context.Context, d *diary, _ *steps.Alarm) (steps.Outcome, error) {
		d.entries = append(d.entries, name)
		return outcome, err
	}}
}

func always(s steps.Step[*diary]) steps.Step[*diary] {
	s.Always = true
	return s
}

var errBroken = errors.New("broken")

func TestRun(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		steps   []steps.Step[*diary]
		ran     []string
		stopped string
		errs    []string
	}{
		"all steps run in order": {
			steps: []steps.Step[*diary]{step("load", steps.Continue, nil), step("apply", steps.Continue, nil)},
			ran:   []string{"load", "apply"},
		},
		"a stop skips the rest but what runs always": {
			steps:   []steps.Step[*diary]{step("load", steps.Stop, nil), step("apply", steps.Continue, nil), always(step("report", steps.Continue, nil))},
			ran:     []string{"load", "report"},
			stopped: "load",
		},
		"an error does not starve later steps": {
			steps: []steps.Step[*diary]{step("secrets", steps.Continue, errBroken), step("failover", steps.Continue, nil)},
			ran:   []string{"secrets", "failover"},
			errs:  []string{"secrets: broken"},
		},
		"an error can stop too": {
			steps:   []steps.Step[*diary]{step("load", steps.Stop, errBroken), step("apply", steps.Continue, nil)},
			ran:     []string{"load"},
			stopped: "load",
			errs:    []string{"load: broken"},
		},
		"every error is kept": {
			steps: []steps.Step[*diary]{step("a", steps.Continue, errBroken), step("b", steps.Continue, errBroken)},
			ran:   []string{"a", "b"},
			errs:  []string{"a: broken", "b: broken"},
		},
		"the first stop is the one that is named": {
			steps:   []steps.Step[*diary]{step("a", steps.Stop, nil), always(step("b", steps.Stop, nil))},
			ran:     []string{"a", "b"},
			stopped: "a",
		},
		"no steps": {},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &diary{}
			got, err := steps.Run(t.Context(), c.steps, d)
			if !slices.Equal(d.entries, c.ran) || !slices.Equal(got.Ran, c.ran) {
				t.Errorf("ran %v (reported %v), want %v", d.entries, got.Ran, c.ran)
			}
			if got.Stopped != c.stopped {
				t.Errorf("stopped at %q, want %q", got.Stopped, c.stopped)
			}
			if (err != nil) != (len(c.errs) > 0) {
				t.Fatalf("error is %v", err)
			}
			for _, want := range c.errs {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not contain %q", err, want)
				}
			}
			if err != nil && !errors.Is(err, errBroken) {
				t.Errorf("the cause is lost in %v", err)
			}
		})
	}
}

func TestNoStepBeginsAfterTheContextIsDone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := &diary{}
	list := []steps.Step[*diary]{
		{Name: "load", Run: func(context.Context, *diary, *steps.Alarm) (steps.Outcome, error) {
			cancel()
			return steps.Continue, nil
		}},
		step("delete", steps.Continue, nil),
		always(step("report", steps.Continue, nil)),
	}
	_, err := steps.Run(ctx, list, d)
	if len(d.entries) != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("ran %v, error %v", d.entries, err)
	}
}

func TestTheEarliestWakeUpWins(t *testing.T) {
	t.Parallel()
	var a steps.Alarm
	if _, _, due := a.Due(); due {
		t.Error("a new alarm is set")
	}
	a.Within(time.Minute, "certificate")
	a.Within(time.Second, "lease")
	a.Within(time.Hour, "resync")
	a.Within(time.Second, "a tie keeps the first")
	if after, why, due := a.Due(); !due || after != time.Second || why != "lease" {
		t.Errorf("got %s because of %s", after, why)
	}
	a.Within(-time.Second, "overdue")
	if after, why, _ := a.Due(); after != 0 || why != "overdue" {
		t.Errorf("got %s because of %s", after, why)
	}
}
