package agent

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// registry holds the metrics of this agent, its engine and its process.
func (a *Agent) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newAgentMetrics(a))
	r.MustRegister(a.opt.Collectors...)
	return r
}

// agentMetrics reads the member's state when it is scraped.
type agentMetrics struct {
	agent *Agent

	epoch, leaseHolds, writesFenced, isolated, ready *prometheus.Desc
	starts, phase, applied, managerAge, peersInTouch *prometheus.Desc
}

func newAgentMetrics(a *Agent) *agentMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("holdfast_agent_"+name, help, labels, nil)
	}
	return &agentMetrics{
		agent:        a,
		epoch:        desc("epoch", "Highest epoch that the agent has seen."),
		leaseHolds:   desc("lease_holds", "1 while the member may take writes as far as the lease is concerned."),
		writesFenced: desc("writes_fenced", "1 while the agent blocks writes because the lease ran out."),
		isolated:     desc("isolated", "1 after the agent killed the server because nobody was in touch."),
		ready:        desc("ready", "1 while the member serves in its role."),
		starts:       desc("server_starts_total", "Starts of the server by this agent process."),
		phase:        desc("server_phase", "1 for the phase that the server process is in.", "phase"),
		applied:      desc("assignment_applied", "1 while the newest assignment is in force completely."),
		managerAge:   desc("manager_contact_age_seconds", "Time since the manager is known to have heard this agent; -1: never."),
		peersInTouch: desc("peers_in_touch", "Peers that answered within the lease and know of no later epoch."),
	}
}

// Describe implements prometheus.Collector.
func (c *agentMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.epoch, c.leaseHolds, c.writesFenced, c.isolated, c.ready,
		c.starts, c.phase, c.applied, c.managerAge, c.peersInTouch} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *agentMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), probeWithin)
	defer cancel()
	var metrics []prometheus.Metric
	// A loop that does not answer gives no metrics rather than old ones.
	_ = c.agent.do(ctx, func() { metrics = c.read(c.agent.opt.Clock.Now()) })
	for _, m := range metrics {
		out <- m
	}
}

func (c *agentMetrics) read(now time.Duration) []prometheus.Metric {
	m := c.agent.m
	gauge := func(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
		return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	age := -1.0
	if m.contacts.manager != never {
		age = (now - m.contacts.manager).Seconds()
	}
	inTouch := 0
	if m.assigned != nil {
		inTouch = m.contacts.agreeing(now, m.assigned.Lease)
	}
	all := []prometheus.Metric{
		gauge(c.epoch, float64(m.epochs.Seen)),
		gauge(c.leaseHolds, zeroOne(m.leaseHolds(now))),
		gauge(c.writesFenced, zeroOne(m.fence == fenceOn)),
		gauge(c.isolated, zeroOne(m.isolated)),
		gauge(c.ready, zeroOne(m.ready())),
		prometheus.MustNewConstMetric(c.starts, prometheus.CounterValue, float64(m.server.Instance)),
		gauge(c.applied, zeroOne(m.digest != "" && m.digest == m.digestOfAssigned)),
		gauge(c.managerAge, age),
		gauge(c.peersInTouch, float64(inTouch)),
	}
	for _, p := range []wire.ServerPhase{wire.ServerWaiting, wire.ServerStarting, wire.ServerRunning, wire.ServerUnresponsive, wire.ServerDown} {
		all = append(all, gauge(c.phase, zeroOne(m.server.Phase == p), string(p)))
	}
	return all
}

func zeroOne(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
