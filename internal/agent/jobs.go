package agent

import (
	"context"
	"time"
)

// job is work for the engine. At most one runs at a time.
type job struct {
	name    string
	timeout time.Duration
	// fences marks the one job that is never cancelled for the sake of another.
	fences bool
	// work runs in the background; done runs on the loop afterwards.
	work func(ctx context.Context) error
	done func(err error)

	cancel context.CancelFunc
}

// start runs a job. The server is read again before done is called, so that every answer shows
// what the job has changed.
func (a *Agent) start(j *job) {
	both, cancel := context.WithCancel(a.ctx)
	j.cancel = cancel
	a.job = j
	instance := a.m.server.Instance
	a.goes(func() {
		defer cancel()
		work, stopWorking := context.WithTimeout(both, j.timeout)
		defer stopWorking()
		err := j.work(work)
		look, stopLooking := context.WithTimeout(both, answerWithin)
		defer stopLooking()
		asked := a.opt.Clock.Now()
		o, lookErr := a.opt.Engine.Observe(look, a.epoch.Load())
		a.post(func() {
			a.job = nil
			if lookErr == nil {
				a.noteAnswer(instance, asked, o)
			}
			j.done(err)
		})
	})
}

// noteAnswer takes an observation of a server instance. One of an earlier instance is history, and so
// is one that was asked for before another that has come already.
func (a *Agent) noteAnswer(instance int, asked time.Duration, o Observation) {
	if a.process == nil || instance != a.m.server.Instance || asked < a.askedAt {
		return
	}
	a.askedAt = asked
	a.m.answered(a.opt.Clock.Now(), &o)
}

// watchServer asks the server, now and at each pulse, until it is gone.
func (a *Agent) watchServer(ctx context.Context, instance int, pulse <-chan struct{}) {
	for {
		a.lookOnce(ctx, instance)
		select {
		case <-ctx.Done():
			return
		case <-pulse:
		}
	}
}

// wake sends to a channel of one; who has not yet seen the wake before needs no second.
func wake(pulse chan<- struct{}) {
	select {
	case pulse <- struct{}{}:
	default:
	}
}

func (a *Agent) lookOnce(ctx context.Context, instance int) {
	look, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	asked := a.opt.Clock.Now()
	o, err := a.opt.Engine.Observe(look, a.epoch.Load())
	if err != nil {
		// No answer is no news: the loop counts the silence.
		return
	}
	a.post(func() { a.noteAnswer(instance, asked, o) })
}
