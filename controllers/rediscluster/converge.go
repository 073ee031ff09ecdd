package rediscluster

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/execute"
	"github.com/holdfast-dev/holdfast/internal/redis/observe"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/rollout"
	"github.com/holdfast-dev/holdfast/internal/steps"
)

// maxTurns bounds the turns of one pass. A failover needs four; more would be a decision that is
// never satisfied, and then other clusters shall have their turn.
const (
	maxTurns      = 10
	afterMaxTurns = 100 * time.Millisecond
)

// converge observes, decides and executes until there is nothing more to do at once. Each turn is a
// whole one: it decides from a fresh snapshot. Turning here and not through the queue saves a
// failover the way through the cache, which shows our own writes late.
func (r *Reconciler) converge(ctx context.Context, p *pass, alarm *steps.Alarm) (steps.Outcome, error) {
	for turn := 1; ; turn++ {
		if err := r.decide(p); err != nil {
			return steps.Continue, err
		}
		if p.unready != "" {
			return steps.Continue, nil
		}
		acted, err := r.executor(p).Run(ctx, r.run(p))
		p.memory.latest = p.cluster.DeepCopy()
		if err != nil {
			return steps.Continue, fmt.Errorf("state %s: %w", p.decision.State, err)
		}
		if !acted || deletes(p.decision) {
			break
		}
		if turn == maxTurns {
			// It went on acting to the end, so nothing else is sure to wake it.
			alarm.Within(afterMaxTurns, "more to do than one pass allows")
			break
		}
	}
	if p.decision.WakeAfter > 0 {
		alarm.Within(p.decision.WakeAfter, string(p.decision.State))
	}
	return steps.Continue, nil
}

// decide takes a snapshot and decides from it.
func (r *Reconciler) decide(p *pass) error {
	now := r.Now()
	p.contacts = r.Fleet.Contacts(p.key())
	state, err := observe.Snapshot(observe.Input{
		Cluster: p.cluster, Pods: p.pods, Contacts: p.contacts, Set: p.set,
		RoutedUID: p.routedUID(), Parts: p.config.parts, Memory: p.memory.observed, Now: now,
	})
	if err != nil {
		return fmt.Errorf("take a snapshot: %w", err)
	}
	p.setOutdated(&state)
	p.state = state
	p.decision = topology.Decide(state)
	p.memory.timeline.Begin(p.decision, p.heardOf(p.cluster.Status.PrimaryUID), now)
	return nil
}

// setOutdated keeps what is outdated for the report, and hides it from the decision while a pod that is
// deleted would come back as it was: until the StatefulSet has the template of the present spec. With
// a spec that cannot be rendered nobody knows what a pod should look like.
func (p *pass) setOutdated(s *topology.State) {
	p.outdated = map[string][]rollout.Reason{}
	hide := p.config.invalid || !p.templateIsCurrent()
	for i := range s.Members {
		m := &s.Members[i]
		if !p.config.invalid {
			p.outdated[m.Name] = m.Pod.Outdated
		}
		if hide {
			m.Pod.Outdated = nil
		}
	}
}

func (p *pass) templateIsCurrent() bool {
	if p.set == nil {
		return false
	}
	have, err := rollout.Decode(p.set.Spec.Template.Annotations[naming.AnnotationRestartParts])
	return err == nil && len(rollout.Diff(have, p.config.parts)) == 0
}

// deletes: after a delete the cache is behind for a moment, and the watch brings the next pass.
func deletes(d topology.Decision) bool {
	for _, s := range d.Steps {
		if s.DeletePod != nil {
			return true
		}
	}
	return false
}

func (r *Reconciler) executor(p *pass) *execute.Executor {
	return &execute.Executor{Orders: r.Fleet, API: &writer{r: r, p: p}, Announcer: &announcer{r: r, p: p}, Now: r.Now}
}

func (r *Reconciler) run(p *pass) *execute.Run {
	run := &execute.Run{
		Cluster: p.cluster, State: p.state, Decision: p.decision,
		Contacts: map[string]fleet.Contact{}, Nodes: map[string]string{},
		Wishes: p.wishes(), Memory: p.memory.observed, Timeline: &p.memory.timeline, Log: p.log,
	}
	for _, c := range p.contacts {
		run.Contacts[c.PodUID] = c
	}
	for _, pod := range p.pods {
		run.Nodes[pod.Name] = pod.Spec.NodeName
	}
	return run
}
