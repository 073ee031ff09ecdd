package agent

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/agent/exposition"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// serveMetrics writes the metrics of the member, its engine and this process.
func (a *Agent) serveMetrics(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), probeWithin)
	defer cancel()
	var families []exposition.Family
	// A loop that does not answer gives no metrics rather than old ones.
	if err := a.do(ctx, func() { families = a.m.metrics(a.opt.Clock.Now()) }); err != nil {
		http.Error(w, "the agent's loop does not answer", http.StatusServiceUnavailable)
		return
	}
	if a.opt.Metrics != nil {
		families = append(families, a.opt.Metrics()...)
	}
	families = append(families, processMetrics()...)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	// The scraper is gone if this fails.
	_ = exposition.Write(w, families)
}

// metrics are the member's, read on the loop.
func (m *member) metrics(now time.Duration) []exposition.Family {
	age := -1.0
	if m.contacts.manager != never {
		age = (now - m.contacts.manager).Seconds()
	}
	inTouch := 0
	if m.assigned != nil {
		inTouch = m.contacts.agreeing(now, m.assigned.Lease)
	}
	gauge := func(name, help string, value float64) exposition.Family {
		return exposition.One(exposition.Gauge, "holdfast_agent_"+name, help, value)
	}
	truth := func(name, help string, value bool) exposition.Family {
		return gauge(name, help, exposition.Truth(value).Value())
	}
	return []exposition.Family{
		gauge("epoch", "Highest epoch that the agent has seen.", float64(m.epochs.Seen)),
		truth("lease_holds", "1 while the member may take writes as far as the lease is concerned.", m.leaseHolds(now)),
		truth("writes_fenced", "1 while the agent blocks writes because the lease ran out.", m.fence == fenceOn),
		truth("isolated", "1 after the agent killed the server because nobody was in touch.", m.isolated),
		truth("ready", "1 while the member serves in its role.", m.ready()),
		truth("assignment_applied", "1 while the newest assignment is in force completely.", m.digest != "" && m.digest == m.digestOfAssigned),
		gauge("manager_contact_age_seconds", "Time since the manager is known to have heard this agent; -1: never.", age),
		gauge("peers_in_touch", "Peers that answered within the lease and know of no later epoch.", float64(inTouch)),
		exposition.One(exposition.Counter, "holdfast_agent_server_starts_total", "Starts of the server by this agent process.", float64(m.server.Instance)),
		m.phaseMetric(),
	}
}

func (m *member) phaseMetric() exposition.Family {
	f := exposition.Family{Name: "holdfast_agent_server_phase", Help: "1 for the phase that the server process is in.", Kind: exposition.Gauge}
	for _, p := range []wire.ServerPhase{wire.ServerWaiting, wire.ServerStarting, wire.ServerRunning, wire.ServerUnresponsive, wire.ServerDown} {
		f.Series = append(f.Series, exposition.Series{Label: "phase", LabelValue: string(p), Value: exposition.Truth(m.server.Phase == p).Value()})
	}
	return f
}

// processMetrics are those of this process, under the names that every Prometheus client uses.
func processMetrics() []exposition.Family {
	var families []exposition.Family
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
		spent := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		families = append(families, exposition.One(exposition.Counter, "process_cpu_seconds_total", "Time that the agent's process has used.", spent.Seconds()))
	}
	var size, resident int
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if _, err := fmt.Sscan(string(b), &size, &resident); err == nil {
			families = append(families, exposition.One(exposition.Gauge, "process_resident_memory_bytes", "Memory of the agent's process.", float64(resident*os.Getpagesize())))
		}
	}
	return families
}
