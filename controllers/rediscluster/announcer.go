package rediscluster

import (
	"time"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/events"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

// announcer is execute.Announcer for one pass.
type announcer struct {
	r *Reconciler
	p *pass
}

func (a *announcer) Announce(c *v1.RedisCluster, occasion topology.Announce) {
	took := a.took()
	switch occasion.Occasion {
	case topology.Bootstrapped:
		events.Bootstrapped.Emit(a.r.Recorder, c, occasion.To, occasion.Reason)
	case topology.FailoverStarted:
		events.FailoverStarted.Emit(a.r.Recorder, c, occasion.From, occasion.Reason)
	case topology.FailoverCompleted:
		events.FailoverCompleted.Emit(a.r.Recorder, c, occasion.From, occasion.To, took)
		countTransition(a.p.key(), topology.Failover, took)
	case topology.HandOverStarted:
		events.HandOverStarted.Emit(a.r.Recorder, c, occasion.From, occasion.To, occasion.Reason)
	case topology.HandOverCompleted:
		events.HandOverCompleted.Emit(a.r.Recorder, c, occasion.From, occasion.To, took)
		countTransition(a.p.key(), topology.HandOver, took)
	case topology.WritesDiscarded:
		events.OldPrimaryRejoined.Emit(a.r.Recorder, c, occasion.From, occasion.Bytes)
	case topology.HandOverGivenUp:
		events.HandOverFailed.Emit(a.r.Recorder, c, occasion.From, occasion.Reason)
	}
	a.p.log.Info("primary changes", "occasion", string(occasion.Occasion), "from", occasion.From, "to", occasion.To, "why", occasion.Reason)
}

// took is how long the change has lasted since the failure was first seen.
func (a *announcer) took() time.Duration {
	t := a.p.memory.timeline
	if t.Detected.IsZero() {
		return 0
	}
	return a.r.Now().Sub(t.Detected).Round(time.Millisecond)
}

func (a *announcer) Restarting(c *v1.RedisCluster, d topology.DeletePod) {
	// A cache that lags shows a pod that was deleted already.
	if !a.p.memory.once("restart of "+d.Pod, d.UID) {
		return
	}
	events.MemberRestart.Emit(a.r.Recorder, c, d.Pod, d.Reason)
	a.p.log.Info("restarting member", "pod", d.Pod, "reason", d.Reason)
}

func (a *announcer) Killed(c *v1.RedisCluster, k topology.Kill) {
	events.MemberKilled.Emit(a.r.Recorder, c, k.Pod, k.Reason)
	a.p.log.Info("killed a server that must not go on", "pod", k.Pod, "reason", k.Reason)
}

func (a *announcer) ConfigRefused(c *v1.RedisCluster, pod, why string) {
	if a.p.memory.once("config", why) {
		events.ConfigRejected.Emit(a.r.Recorder, c, why)
	}
	a.p.log.Info("configuration refused", "pod", pod, "why", why)
}
