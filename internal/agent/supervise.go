package agent

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// startServer boots the server, held, with an assignment's wishes.
func (a *Agent) startServer(assigned wire.Assignment) {
	a.starting = true
	a.goes(func() {
		p, err := a.bootServer(assigned)
		a.post(func() {
			a.starting = false
			if err != nil {
				a.startFailed(err)
				return
			}
			a.serverStarted(p)
		})
	})
}

func (a *Agent) bootServer(assigned wire.Assignment) (*process, error) {
	ctx, cancel := context.WithTimeout(a.ctx, jobTimeout)
	defer cancel()
	command, err := a.opt.Engine.Prepare(ctx, assigned)
	if err != nil {
		return nil, err
	}
	return startProcess(command, a.opt.Output)
}

func (a *Agent) startFailed(err error) {
	a.opt.Logger.Error("start the server", "error", err)
	a.m.server.Phase = wire.ServerDown
	a.m.server.LastExit = "not started: " + err.Error()
	a.m.stripped()
	a.answerWaiters(err)
	a.delayRestart()
	a.leaveExits()
}

func (a *Agent) serverStarted(p *process) {
	now := a.opt.Clock.Now()
	a.process = p
	a.m.server.Instance++
	a.m.server.Phase = wire.ServerStarting
	a.m.startedAt, a.m.answeredAt = now, now
	instance := a.m.server.Instance
	a.opt.Logger.Info("server started", "instance", instance, "pid", p.pid())
	a.goes(func() {
		exit := p.wait()
		a.post(func() { a.serverExited(exit) })
	})
	watch, cancel := context.WithCancel(a.ctx)
	pulse := make(chan struct{}, 1)
	a.watch, a.look = cancel, pulse
	a.goes(func() { a.watchServer(watch, instance, pulse) })
	// Orders that came while it was being started.
	if a.killing || a.m.server.KilledEpoch > 0 || a.m.isolated {
		a.killServer()
	}
}

// serverExited notes the end of the server, whoever caused it.
func (a *Agent) serverExited(exit string) {
	ordered := a.killing || a.stop.asked
	a.opt.Logger.Info("server exited", "instance", a.m.server.Instance, "exit", exit, "ordered", ordered)
	a.process, a.killing = nil, false
	a.watch()
	a.look = nil
	if a.job != nil {
		a.job.cancel()
	}
	a.m.server.Phase = wire.ServerDown
	a.m.server.UnresponsiveMillis = 0
	a.m.server.LastExit = exit
	// What was known of the living server is no fact about the dead one.
	a.m.observed = nil
	if ordered {
		a.restartAt = 0
	} else {
		a.m.stripped()
		a.answerWaiters(errors.New("the server exited: " + exit))
		a.delayRestart()
	}
	a.refuseHandOver()
	a.leaveExits()
	a.inspect()
}

// delayRestart makes each start after a crash wait longer than the one before.
func (a *Agent) delayRestart() {
	now := a.opt.Clock.Now()
	if now-a.m.startedAt > settled {
		a.backoff = firstRestart
	}
	a.restartAt = now + a.backoff
	a.backoff = min(2*a.backoff, lastRestart)
}

// leaveExits tells those who wait for the server to be dead.
func (a *Agent) leaveExits() {
	for _, e := range a.exits {
		close(e)
	}
	a.exits = nil
}

// killServer ends the server at once. It loses every role before it is dead.
func (a *Agent) killServer() {
	a.m.stripped()
	a.answerWaiters(errKilled)
	a.refuseHandOver()
	if a.process == nil {
		return
	}
	a.killing = true
	a.process.kill()
	if a.job != nil {
		a.job.cancel()
	}
}

var errKilled = errors.New("the server was killed by order")

// killAndWait leaves no server behind when the agent itself cannot go on.
func (a *Agent) killAndWait() error {
	ticks, stop := a.opt.Clock.Ticker(lastRestart)
	defer stop()
	for a.process != nil || a.starting {
		if a.process != nil {
			a.process.kill()
		}
		select {
		case event := <-a.inbox:
			event()
		case <-ticks:
			return errors.New("the server did not die")
		}
	}
	return nil
}
