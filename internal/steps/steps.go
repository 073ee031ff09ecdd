package steps

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Outcome says what becomes of the steps behind this one.
type Outcome int

// The outcomes of a step.
const (
	// Continue with the next step. With an error too: one broken concern must not starve the others.
	Continue Outcome = iota
	// Stop skips the remaining steps but those that run always.
	Stop
)

// Step is one concern of a pass.
type Step[S any] struct {
	// Name of the step, for errors and logs.
	Name string
	// Run does the step's work. It asks for the next pass through the alarm.
	Run func(ctx context.Context, state S, alarm *Alarm) (Outcome, error)
	// Always: run the step on every path, also after a Stop. Reporting is one of these.
	Always bool
}

// Result is what a pass came to.
type Result struct {
	// Alarm holds the earliest wake-up.
	Alarm Alarm
	// Stopped is the step that ended the pass early; empty: none did.
	Stopped string
	// Ran lists the steps that ran, in order.
	Ran []string
}

// Run runs the steps in order. Errors are joined and name their step.
//
// Once the context is done no further step begins, not even one that runs always: it could write nothing.
func Run[S any](ctx context.Context, list []Step[S], state S) (Result, error) {
	var result Result
	var errs []error
	for _, step := range list {
		if result.Stopped != "" && !step.Always {
			continue
		}
		if err := ctx.Err(); err != nil {
			return result, errors.Join(append(errs, fmt.Errorf("before step %s: %w", step.Name, err))...)
		}
		result.Ran = append(result.Ran, step.Name)
		outcome, err := step.Run(ctx, state, &result.Alarm)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", step.Name, err))
		}
		if outcome == Stop && result.Stopped == "" {
			result.Stopped = step.Name
		}
	}
	return result, errors.Join(errs...)
}

// Alarm collects when the next pass is due: the earliest wish wins. The zero value asks for nothing.
type Alarm struct {
	set    bool
	after  time.Duration
	reason string
}

// Within asks for a pass within the given time, for a reason that is shown to developers.
func (a *Alarm) Within(after time.Duration, reason string) {
	after = max(after, 0)
	if a.set && a.after <= after {
		return
	}
	a.set, a.after, a.reason = true, after, reason
}

// Due returns the earliest wish and its reason; false: no pass was asked for.
func (a *Alarm) Due() (time.Duration, string, bool) { return a.after, a.reason, a.set }
