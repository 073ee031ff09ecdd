package agent

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// reliefContact is how long a primary that is to stop goes on waiting after the manager was heard last.
const reliefContact = 2 * time.Second

// stopping is how far an ordered stop has come.
type stopping struct {
	// reliefUntil is how long a primary waits for its role to be taken away.
	reliefUntil time.Duration
	// asked: the server was asked to end; it is killed at killAt.
	asked  bool
	killAt time.Duration
	failed bool
}

// beginStop makes it known that the pod is about to go.
func (a *Agent) beginStop() {
	a.opt.Logger.Info("told to stop")
	a.m.stopping = true
	a.stop.reliefUntil = a.opt.Clock.Now() + a.opt.Relief
}

// advanceStop takes the next step of a stop and says whether the usual work must rest.
func (a *Agent) advanceStop(now time.Duration) bool {
	switch {
	case a.starting:
		return true
	case a.process == nil:
		if a.job == nil && !a.inspecting {
			a.m.final = true
		}
		return true
	case a.stop.asked:
		a.killLate(now)
		return true
	case a.mayBeRelieved() && now < a.stop.reliefUntil:
		return false
	case a.job != nil:
		a.job.cancel()
		return true
	default:
		a.askToStop(now)
		return true
	}
}

// mayBeRelieved says whether the member is a primary whose role another could take, and a manager is
// there to see to it. A cluster that is being deleted has none any more.
func (a *Agent) mayBeRelieved() bool {
	m := a.m
	return m.granted && len(m.assigned.Peers) > 0 && m.server.Phase == wire.ServerRunning &&
		m.contacts.managerFresh(a.opt.Clock.Now(), reliefContact)
}

func (a *Agent) askToStop(now time.Duration) {
	a.stop.asked = true
	a.stop.killAt = now + stopWithin
	a.m.stripped()
	a.answerWaiters(errStopped)
	a.start(&job{
		name:    "stop",
		timeout: stopWithin,
		work:    func(ctx context.Context) error { return a.opt.Engine.Stop(ctx) },
		done: func(err error) {
			if err != nil {
				a.opt.Logger.Error("stop the server in order", "error", err)
				a.stop.failed = true
			}
		},
	})
}

// killLate ends a server that does not stop in order.
func (a *Agent) killLate(now time.Duration) {
	if a.killing || (now < a.stop.killAt && !a.stop.failed) {
		return
	}
	a.opt.Logger.Warn("the server did not stop in order, killing it")
	a.killServer()
}
