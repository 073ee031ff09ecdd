package rediscluster

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/redis/execute"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

var (
	stateMetric = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "holdfast_cluster_state",
		Help: "1 for the state that the cluster is in, by the name that the operator gives it.",
	}, []string{"namespace", "name", "state"})
	membersMetric = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "holdfast_cluster_members",
		Help: "Number of members by the role that they were last observed in.",
	}, []string{"namespace", "name", "role"})
	transitionsMetric = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_primary_changes_total",
		Help: "Changes of primary that were completed, by kind.",
	}, []string{"namespace", "name", "kind"})
	durationMetric = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "holdfast_primary_change_seconds",
		Help:    "Time from the decision to change the primary until the new one serves.",
		Buckets: []float64{.025, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60},
	}, []string{"kind"})
	phaseMetric = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "holdfast_failover_phase_seconds",
		Help:    "Time from the last word of the former primary until a part of the change was done.",
		Buckets: []float64{.005, .01, .025, .05, .1, .2, .5, 1, 2, 5, 10},
	}, []string{"kind", "phase"})
	refusedMetric = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_decisions_refused_total",
		Help: "Times that the operator refused to go on because confirmed writes could be lost.",
	}, []string{"namespace", "name", "state"})
)

// Collectors are the metrics of this package, for the manager's registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{stateMetric, membersMetric, transitionsMetric, durationMetric, phaseMetric, refusedMetric}
}

func countTransition(key types.NamespacedName, kind topology.Kind, took time.Duration) {
	transitionsMetric.WithLabelValues(key.Namespace, key.Name, string(kind)).Inc()
	durationMetric.WithLabelValues(string(kind)).Observe(took.Seconds())
}

func countRefused(key types.NamespacedName, state string) {
	refusedMetric.WithLabelValues(key.Namespace, key.Name, state).Inc()
}

// measure sets the gauges of a cluster, and ends the timeline of a change when its last part is done.
func (r *Reconciler) measure(p *pass) {
	key := p.key()
	of := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	stateMetric.DeletePartialMatch(of)
	stateMetric.WithLabelValues(key.Namespace, key.Name, string(p.decision.State)).Set(1)
	membersMetric.DeletePartialMatch(of)
	for i := range p.state.Members {
		role := p.state.Role(&p.state.Members[i])
		membersMetric.WithLabelValues(key.Namespace, key.Name, string(role)).Inc()
	}
	r.endTimeline(p)
}

// endTimeline writes one line for each change of primary, once a replica that was there before is
// attached to the new one.
func (r *Reconciler) endTimeline(p *pass) {
	t := &p.memory.timeline
	if p.cluster.Status.Transition != nil || len(p.state.ReadyReplicas()) == 0 || !t.Attach(r.Now()) {
		return
	}
	parts := parts(t)
	fields := []any{"kind", string(t.Kind), "epoch", t.Epoch, "primary", p.cluster.Status.Primary}
	for _, part := range parts {
		fields = append(fields, part.name+"Ms", part.after.Milliseconds())
		phaseMetric.WithLabelValues(string(t.Kind), part.name).Observe(part.after.Seconds())
	}
	p.log.Info("failover timeline", fields...)
}

type part struct {
	name  string
	after time.Duration
}

// parts are the ages of what was done, counted from the last word of the former primary.
func parts(t *execute.Timeline) []part {
	start := t.Heard
	if start.IsZero() || start.After(t.Detected) {
		start = t.Detected
	}
	var out []part
	for _, p := range []struct {
		name string
		at   time.Time
	}{
		{"detected", t.Detected}, {"stored", t.Stored}, {"elected", t.Elected},
		{"promoted", t.Promoted}, {"routed", t.Routed}, {"attached", t.Attached},
	} {
		if !p.at.IsZero() {
			out = append(out, part{name: p.name, after: p.at.Sub(start)})
		}
	}
	return out
}

func forgetMetrics(key types.NamespacedName) {
	of := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	for _, m := range []*prometheus.GaugeVec{stateMetric, membersMetric} {
		m.DeletePartialMatch(of)
	}
	transitionsMetric.DeletePartialMatch(of)
	refusedMetric.DeletePartialMatch(of)
}
