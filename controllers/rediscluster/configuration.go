package rediscluster

import (
	"context"
	"net"
	"strconv"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/events"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/dbconfig"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
	"github.com/holdfast-dev/holdfast/internal/rollout"
	"github.com/holdfast-dev/holdfast/internal/steps"
)

// configuration of the servers, and what a pod that is made now is made from.
type configuration struct {
	rendered dbconfig.Rendered
	parts    rollout.Parts
	// invalid: the spec's configuration is refused; the last valid one stays in effect.
	invalid bool
}

// configuration renders the spec. One that is invalid changes nothing: the last valid one stays, and
// a failover goes on with it.
func (r *Reconciler) configuration(_ context.Context, p *pass, _ *steps.Alarm) (steps.Outcome, error) {
	rendered, err := dbconfig.Render(p.cluster)
	if err != nil {
		p.problem(v1.ReasonConfigRejected, "The configuration is not applied: %s.", err)
		if p.memory.once("config", err.Error()) {
			events.ConfigRejected.Emit(r.Recorder, p.cluster, err.Error())
		}
		if p.memory.config != nil {
			p.config = *p.memory.config
		}
		p.config.invalid = true
		return steps.Continue, nil
	}
	p.config = configuration{rendered: rendered}
	p.config.parts, err = resources.Parts(p.input(r))
	if err != nil {
		return steps.Stop, err
	}
	kept := p.config
	p.memory.config = &kept
	return steps.Continue, nil
}

// connect tells the fleet which agents there are.
func (r *Reconciler) connect(_ context.Context, p *pass, _ *steps.Alarm) (steps.Outcome, error) {
	target := fleet.Target{
		TLS: p.tls, Detection: p.cluster.Spec.Failover.Detection.Duration,
		RequiredEpoch: storedEpoch(&p.cluster.Status),
	}
	for _, pod := range p.pods {
		m := fleet.Member{
			Namespace: p.cluster.Namespace, Cluster: p.cluster.Name, ClusterUID: string(p.cluster.UID),
			Pod: pod.Name, PodUID: string(pod.UID),
		}
		if pod.Status.PodIP != "" {
			m.Address = net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(naming.AgentPort)))
		}
		target.Members = append(target.Members, m)
	}
	r.Fleet.Sync(p.key(), target)
	return steps.Continue, nil
}

// once says whether this was not said before, so that an event comes on a change and not on every pass.
func (m *memory) once(topic, what string) bool {
	if m.announced[topic] == what {
		return false
	}
	m.announced[topic] = what
	return true
}

// settled forgets what was said on a topic, so that it is said again when it comes back.
func (m *memory) settled(topic string) { delete(m.announced, topic) }
