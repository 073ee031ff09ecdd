package agent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// metric is one number of a server's state.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(protocol.State) float64
}

// metrics exposes what the last observation read; a scrape asks the server nothing.
type metrics struct {
	engine *Engine

	up, role, keys, expires, replicaOffset, replicaLag *prometheus.Desc
	numbers                                            []metric
}

// Collector returns the metrics of the server.
func (e *Engine) Collector() prometheus.Collector {
	return &metrics{
		engine:        e,
		up:            describe("up", "1 while the server answers."),
		role:          describe("role", "1 for the role that the server has.", "role"),
		keys:          describe("keys", "Keys by database.", "db"),
		expires:       describe("expiring_keys", "Keys with an expiry by database.", "db"),
		replicaOffset: describe("replica_offset_bytes", "Offset that an attached replica has confirmed.", "replica"),
		replicaLag:    describe("replica_lag_seconds", "Time since an attached replica's last confirmation.", "replica"),
		numbers:       append(serverNumbers(), replicationNumbers()...),
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("holdfast_redis_"+name, help, labels, nil)
}

func gauge(name, help string, value func(protocol.State) float64) metric {
	return metric{describe(name, help), prometheus.GaugeValue, value}
}

func counter(name, help string, value func(protocol.State) int64) metric {
	return metric{describe(name, help), prometheus.CounterValue, func(s protocol.State) float64 { return float64(value(s)) }}
}

func serverNumbers() []metric {
	return []metric{
		gauge("uptime_seconds", "Time since the server started.", func(s protocol.State) float64 { return s.Uptime.Seconds() }),
		gauge("loading", "1 while the server reads its data from disk.", func(s protocol.State) float64 { return zeroOne(s.Loading) }),
		gauge("connected_clients", "Clients that are connected.", func(s protocol.State) float64 { return float64(s.Clients.Connected) }),
		gauge("blocked_clients", "Clients that wait in a blocking command.", func(s protocol.State) float64 { return float64(s.Clients.Blocked) }),
		gauge("memory_used_bytes", "Memory that the server has allocated.", func(s protocol.State) float64 { return float64(s.Memory.Used) }),
		gauge("memory_resident_bytes", "Memory of the process as the kernel counts it.", func(s protocol.State) float64 { return float64(s.Memory.Resident) }),
		gauge("memory_max_bytes", "Limit for the data; 0: none.", func(s protocol.State) float64 { return float64(s.Memory.Max) }),
		gauge("commands_per_second", "Rate of commands at present.", func(s protocol.State) float64 { return float64(s.Counters.CommandsPerSecond) }),
		gauge("save_failed", "1 if the last attempt to write to disk went wrong.", func(s protocol.State) float64 { return zeroOne(s.SaveFailed || s.AppendFailed) }),
		counter("commands_total", "Commands processed.", func(s protocol.State) int64 { return s.Counters.Commands }),
		counter("connections_total", "Connections accepted.", func(s protocol.State) int64 { return s.Counters.Connections }),
		counter("keyspace_hits_total", "Look-ups of keys that exist.", func(s protocol.State) int64 { return s.Counters.Hits }),
		counter("keyspace_misses_total", "Look-ups of keys that do not exist.", func(s protocol.State) int64 { return s.Counters.Misses }),
		counter("evicted_keys_total", "Keys evicted for want of memory.", func(s protocol.State) int64 { return s.Counters.Evicted }),
		counter("expired_keys_total", "Keys that expired.", func(s protocol.State) int64 { return s.Counters.Expired }),
	}
}

func replicationNumbers() []metric {
	return []metric{
		gauge("replication_offset_bytes", "Offset that the server has processed.", func(s protocol.State) float64 { return float64(s.Offset) }),
		gauge("replication_link_up", "1 while the link to the primary is up; 1 on a primary.", func(s protocol.State) float64 {
			return zeroOne(s.Link.Up || s.Role == protocol.RolePrimary)
		}),
		gauge("replication_sync_in_progress", "1 while a full synchronisation runs.", func(s protocol.State) float64 { return zeroOne(s.SyncInProgress) }),
		gauge("replication_last_io_seconds", "Time since the last byte from the primary; -1: no link.", func(s protocol.State) float64 {
			if s.Link.LastIO == protocol.Never {
				return -1
			}
			return s.Link.LastIO.Seconds()
		}),
		gauge("replication_link_down_seconds", "Time that the link to the primary is down.", func(s protocol.State) float64 {
			return max(0, s.Link.DownFor.Truncate(time.Second).Seconds())
		}),
		gauge("attached_replicas", "Replicas that are in step.", func(s protocol.State) float64 {
			online := 0
			for _, r := range s.Replicas {
				if r.Online {
					online++
				}
			}
			return float64(online)
		}),
		counter("sync_full_total", "Full synchronisations served.", func(s protocol.State) int64 { return s.Counters.SyncFull }),
		counter("sync_partial_total", "Partial synchronisations served.", func(s protocol.State) int64 { return s.Counters.SyncPartial }),
		counter("sync_partial_failed_total", "Partial synchronisations that could not be served.", func(s protocol.State) int64 { return s.Counters.SyncPartialFailed }),
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.up, m.role, m.keys, m.expires, m.replicaOffset, m.replicaLag} {
		out <- d
	}
	for _, n := range m.numbers {
		out <- n.desc
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	m.engine.mu.Lock()
	state, answered := m.engine.seen.state, m.engine.seen.answered
	m.engine.mu.Unlock()
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	send(m.up, zeroOne(answered))
	if !answered {
		return
	}
	for _, r := range []wire.Role{wire.RoleHeld, wire.RolePrimary, wire.RoleReplica} {
		send(m.role, zeroOne(roleOf(state) == r), string(r))
	}
	for _, n := range m.numbers {
		out <- prometheus.MustNewConstMetric(n.desc, n.kind, n.value(state))
	}
	for _, d := range state.Databases {
		send(m.keys, float64(d.Keys), d.Name)
		send(m.expires, float64(d.Expires), d.Name)
	}
	for _, r := range state.Replicas {
		send(m.replicaOffset, float64(r.Offset), hostPort(r.Address))
		send(m.replicaLag, r.Lag.Seconds(), hostPort(r.Address))
	}
}

func zeroOne(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
