package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// assign takes an assignment and waits until it is applied, its caller gives up, or applyWait is
// over: the record in the answer tells by its digest how far it came. It does not wait for a server that
// is down or starting: that one takes its role as it comes up, and a failover must not wait for it.
func (a *Agent) assign(ctx context.Context, assigned wire.Assignment) (wire.Record, error) {
	digest, err := assigned.Digest()
	if err != nil {
		return wire.Record{}, invalid(err.Error())
	}
	waiter := make(chan error, 1)
	var refusal *Refusal
	var up bool
	err = a.do(ctx, func() {
		up = a.m.server.Phase == wire.ServerRunning
		if refusal = a.m.admit(assigned); refusal == nil {
			a.take(assigned, digest, waiter)
		}
	})
	if err != nil {
		return wire.Record{}, err
	}
	if refusal != nil {
		return wire.Record{}, refusal
	}
	if !up {
		return a.record(ctx)
	}
	wait, cancel := context.WithTimeout(ctx, applyWait)
	defer cancel()
	select {
	case err = <-waiter:
	case <-wait.Done():
	case <-a.gone:
		err = errStopped
	}
	var incomplete *IncompleteError
	if err != nil && !errors.As(err, &incomplete) {
		return wire.Record{}, engineRefusal(err)
	}
	return a.record(ctx)
}

// take makes an admitted assignment the newest.
func (a *Agent) take(assigned wire.Assignment, digest string, waiter chan error) {
	m := a.m
	if m.stopping && a.stop.asked {
		waiter <- errStopped
		return
	}
	if m.digestOfAssigned != digest {
		a.answerWaiters(fmt.Errorf("a newer assignment of epoch %d came", assigned.Epoch))
		if a.job != nil && !a.job.fences {
			a.job.cancel()
		}
		a.opt.Logger.Info("assigned", "role", assigned.Role, "epoch", assigned.Epoch, "peers", len(assigned.Peers))
	}
	m.accept(assigned, digest, a.opt.Clock.Now())
	a.waiters = append(a.waiters, waiter)
	a.peers.set(assigned.Peers)
}

// handOverTo gives the role of primary away and answers when that has ended.
func (a *Agent) handOverTo(ctx context.Context, h wire.HandOver) (wire.Record, error) {
	result := make(chan error, 1)
	var refusal error
	err := a.do(ctx, func() { refusal = a.queueHandOver(h, result) })
	if err = errors.Join(err, refusal); err != nil {
		return wire.Record{}, err
	}
	select {
	case err = <-result:
	case <-ctx.Done():
		err = ctx.Err()
	case <-a.gone:
		err = errStopped
	}
	if err != nil {
		return wire.Record{}, engineRefusal(err)
	}
	return a.record(ctx)
}

func (a *Agent) queueHandOver(h wire.HandOver, result chan error) error {
	if r := a.m.admitHandOver(h); r != nil {
		return r
	}
	if a.handOver != nil || a.process == nil || a.killing || a.stop.asked {
		return engineRefusal(errors.New("the server is not ready to hand over"))
	}
	a.m.seeEpoch(h.Epoch, a.opt.Clock.Now())
	epochs := a.m.epochs
	a.opt.Logger.Info("handing over", "to", h.To.Pod, "epoch", h.Epoch)
	a.handOver = &job{
		name:    "hand over",
		timeout: h.Timeout + jobTimeout,
		work: func(ctx context.Context) error {
			if err := a.store.raise(epochs); err != nil {
				return err
			}
			return a.opt.Engine.HandOver(ctx, h)
		},
		done: func(err error) {
			if err == nil && a.process != nil && !a.killing {
				a.m.handedOverUnder(h.Epoch)
			}
			result <- err
		},
	}
	return nil
}

// refuseHandOver answers a hand-over that waits and can no longer happen.
func (a *Agent) refuseHandOver() {
	if a.handOver != nil {
		a.handOver.done(errors.New("the server is gone"))
		a.handOver = nil
	}
}

// kill ends the server at once and answers when it is dead and the epoch is on disk. It waits for
// no job: it is the way out when the server hangs.
func (a *Agent) kill(ctx context.Context, k wire.Kill) (wire.Record, error) {
	var refusal *Refusal
	var epochs Epochs
	dead := make(chan struct{})
	err := a.do(ctx, func() {
		if refusal = a.m.admitOrder(k.Cluster, k.Epoch); refusal != nil {
			return
		}
		a.opt.Logger.Warn("killing the server by order", "epoch", k.Epoch, "reason", k.Reason)
		a.m.seeEpoch(k.Epoch, a.opt.Clock.Now())
		a.m.server.KilledEpoch = k.Epoch
		epochs = a.m.epochs
		if a.process == nil && !a.starting {
			close(dead)
		} else {
			a.exits = append(a.exits, dead)
		}
		a.killServer()
	})
	if err != nil {
		return wire.Record{}, err
	}
	if refusal != nil {
		return wire.Record{}, refusal
	}
	// The kill does not wait for the disk: a dead server is safe under any epoch.
	if err := a.store.raise(epochs); err != nil {
		return wire.Record{}, engineRefusal(err)
	}
	select {
	case <-dead:
		return a.record(ctx)
	case <-ctx.Done():
		return wire.Record{}, ctx.Err()
	case <-a.gone:
		return wire.Record{}, errStopped
	}
}

// refresh reads the server at this moment; a server that does not answer shows in the record.
func (a *Agent) refresh(ctx context.Context) (wire.Record, error) {
	var instance int
	running := false
	if err := a.do(ctx, func() { running, instance = a.process != nil, a.m.server.Instance }); err != nil {
		return wire.Record{}, err
	}
	if running {
		look, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		asked := a.opt.Clock.Now()
		if o, err := a.opt.Engine.Observe(look, a.epoch.Load()); err == nil {
			a.post(func() { a.noteAnswer(instance, asked, o) })
		}
	}
	return a.record(ctx)
}

// greet answers a peer's call.
func (a *Agent) greet(ctx context.Context, p wire.Peer) (wire.Peer, error) {
	if p.Cluster != a.opt.Identity.Cluster {
		return wire.Peer{}, &Refusal{http.StatusConflict, wire.Error{Code: wire.CodeWrongCluster, Message: "this member belongs to another cluster"}}
	}
	var answer wire.Peer
	err := a.do(ctx, func() {
		a.m.contacts.peerCalled(p.Pod, a.opt.Clock.Now())
		a.m.contacts.highestPeerEpoch = max(a.m.contacts.highestPeerEpoch, p.Epoch)
		answer = a.greeting()
	})
	return answer, err
}

// greeting is what this agent tells its peers. It runs on the loop.
func (a *Agent) greeting() wire.Peer {
	return wire.Peer{Pod: a.opt.Identity.Pod, Cluster: a.opt.Identity.Cluster, Epoch: a.m.epochs.Seen}
}

// echoed notes that the manager has received the record sent at sent.
func (a *Agent) echoed(sent time.Duration) {
	a.post(func() {
		// A time that has not come yet is no time of this process.
		if sent <= a.opt.Clock.Now() {
			a.m.contacts.managerAt(sent)
		}
	})
}

func engineRefusal(err error) *Refusal {
	return &Refusal{http.StatusBadGateway, wire.Error{Code: wire.CodeEngine, Message: err.Error()}}
}
