package rediscluster

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/steps"
)

// passSteps is one pass of the reconciler, in order. Everything up to converge only reads in a
// steady cluster, so that a failover waits for nothing; what follows is not urgent.
func (r *Reconciler) passSteps() []steps.Step[*pass] {
	return []steps.Step[*pass]{
		{Name: "observe objects", Run: r.observeObjects},
		{Name: "certificates", Run: r.certificates},
		{Name: "credentials", Run: r.credentials},
		{Name: "configuration", Run: r.configuration},
		{Name: "connect agents", Run: r.connect},
		{Name: "converge", Run: r.converge},
		{Name: "apply objects", Run: r.applyObjects},
		{Name: "route replicas", Run: r.routeReplicas},
		{Name: "label pods", Run: r.labelPods},
		{Name: "report", Run: r.report, Always: true},
	}
}

// observeObjects reads the objects that a decision rests on, from the cache.
func (r *Reconciler) observeObjects(ctx context.Context, p *pass, _ *steps.Alarm) (steps.Outcome, error) {
	if err := p.read(ctx, r); err != nil {
		// Nothing may be decided without them.
		return steps.Stop, err
	}
	return steps.Continue, nil
}
