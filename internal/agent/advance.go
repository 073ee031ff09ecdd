package agent

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// advance starts what the state asks for. It runs after every event and starts at most one thing
// of each kind.
func (a *Agent) advance() {
	now := a.opt.Clock.Now()
	if a.m.stopping && a.advanceStop(now) {
		return
	}
	if a.shouldStart(now) {
		a.startServer(*a.m.assigned)
	}
	if a.m.fence == fenceWanted && a.job != nil && !a.job.fences && !a.m.leaseHolds(now) {
		// What runs came from a manager that has not been heard for a lease.
		a.job.cancel()
	}
	if a.m.isUsurper() {
		a.opt.Logger.Warn("the server became primary against its assignment")
		a.m.pending = true
	}
	if a.job == nil {
		a.startNextJob(now)
	}
}

func (a *Agent) shouldStart(now time.Duration) bool {
	// A job of the server before may still be on its way back.
	return a.process == nil && !a.starting && a.job == nil && a.m.assigned != nil && a.m.server.KilledEpoch == 0 &&
		!a.m.isolated && now >= a.restartAt
}

// startNextJob picks the most urgent order for the engine.
func (a *Agent) startNextJob(now time.Duration) {
	m := a.m
	switch {
	case a.process == nil || a.killing:
	case m.fence == fenceWanted && !m.leaseHolds(now):
		a.startFence()
	case a.handOver != nil:
		next := a.handOver
		a.handOver = nil
		a.start(next)
	case m.server.Phase != wire.ServerRunning:
	case m.pending && now >= m.retryAt && (m.assigned.Role != wire.RolePrimary || m.leaseHolds(now)):
		a.startApply()
	case m.fence != fenceOff && m.fenceMayLift(now):
		a.startApply()
	}
}

// startApply makes the server what the newest assignment says.
func (a *Agent) startApply() {
	m := a.m
	assigned, digest := *m.assigned, m.digestOfAssigned
	epochs := m.epochs
	m.promoting = assigned.Role == wire.RolePrimary
	m.inStep = m.inStep && m.roleInForce
	a.start(&job{
		name:    "apply",
		timeout: jobTimeout,
		work: func(ctx context.Context) error {
			if err := a.store.raise(epochs); err != nil {
				return err
			}
			return a.opt.Engine.Apply(ctx, assigned)
		},
		done: func(err error) {
			// A newer assignment waits, or the server died: this result is about neither.
			if m.digestOfAssigned == digest && a.process != nil && !a.killing {
				a.applied(digest, err)
			}
		},
	})
}

// applied notes how the newest assignment went.
func (a *Agent) applied(digest string, err error) {
	m, now := a.m, a.opt.Clock.Now()
	var incomplete *IncompleteError
	switch {
	case err == nil:
		m.pending, m.roleInForce = false, true
		m.digest, m.assignmentError = digest, ""
	case errors.As(err, &incomplete):
		// The same wishes would be refused again: the manager decides whether to try.
		m.pending, m.roleInForce = false, true
		m.digest, m.assignmentError = "", incomplete.Reason
	default:
		m.digest, m.assignmentError = "", err.Error()
		m.retryAt = now + retryAfter
		a.opt.Logger.Warn("apply the assignment", "epoch", m.assigned.Epoch, "role", m.assigned.Role, "error", err)
	}
	if m.roleInForce && (m.assigned.Role != wire.RolePrimary || m.leaseHolds(now)) {
		m.fence = fenceOff
	}
	if m.roleInForce {
		a.opt.Logger.Debug("assignment applied", "epoch", m.assigned.Epoch, "role", m.assigned.Role)
	}
	a.answerWaiters(err)
}

// answerWaiters tells the callers that wait for the newest assignment.
func (a *Agent) answerWaiters(err error) {
	for _, w := range a.waiters {
		w <- err
	}
	a.waiters = nil
}

// startFence blocks writes; it is repeated until the server confirmed it.
func (a *Agent) startFence() {
	m := a.m
	a.start(&job{
		name:    "fence",
		timeout: answerWithin,
		fences:  true,
		work:    a.opt.Engine.Fence,
		done: func(err error) {
			if err != nil {
				a.opt.Logger.Warn("block writes", "error", err)
				return
			}
			if m.fence == fenceWanted {
				m.fence = fenceOn
				a.opt.Logger.Warn("writes are blocked, neither the manager nor enough peers are in touch")
			}
		},
	})
}
