package agent

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/agent/exposition"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Metrics are what the last observation read; a scrape asks the server nothing.
func (e *Engine) Metrics() []exposition.Family {
	e.mu.Lock()
	state, answered := e.seen.state, e.seen.answered
	e.mu.Unlock()
	all := []exposition.Family{exposition.One(exposition.Gauge, prefix+"up", "1 while the server answers.", exposition.Truth(answered).Value())}
	if !answered {
		return all
	}
	all = append(all, labelled(state)...)
	for _, n := range append(serverNumbers(), replicationNumbers()...) {
		all = append(all, exposition.One(n.kind, prefix+n.name, n.help, n.value(state)))
	}
	return all
}

const prefix = "holdfast_redis_"

// labelled are the metrics with several series.
func labelled(s protocol.State) []exposition.Family {
	role := exposition.Family{Name: prefix + "role", Help: "1 for the role that the server has.", Kind: exposition.Gauge}
	for _, r := range []wire.Role{wire.RoleHeld, wire.RolePrimary, wire.RoleReplica} {
		role.Series = append(role.Series, exposition.Series{Label: "role", LabelValue: string(r), Value: exposition.Truth(roleOf(s) == r).Value()})
	}
	keys := exposition.Family{Name: prefix + "keys", Help: "Keys by database.", Kind: exposition.Gauge}
	expiring := exposition.Family{Name: prefix + "expiring_keys", Help: "Keys with an expiry by database.", Kind: exposition.Gauge}
	for _, d := range s.Databases {
		keys.Series = append(keys.Series, exposition.Series{Label: "db", LabelValue: d.Name, Value: float64(d.Keys)})
		expiring.Series = append(expiring.Series, exposition.Series{Label: "db", LabelValue: d.Name, Value: float64(d.Expires)})
	}
	offset := exposition.Family{Name: prefix + "replica_offset_bytes", Help: "Offset that an attached replica has confirmed.", Kind: exposition.Gauge}
	lag := exposition.Family{Name: prefix + "replica_lag_seconds", Help: "Time since an attached replica's last confirmation.", Kind: exposition.Gauge}
	for _, r := range s.Replicas {
		name := hostPort(r.Address)
		offset.Series = append(offset.Series, exposition.Series{Label: "replica", LabelValue: name, Value: float64(r.Offset)})
		lag.Series = append(lag.Series, exposition.Series{Label: "replica", LabelValue: name, Value: r.Lag.Seconds()})
	}
	return []exposition.Family{role, keys, expiring, offset, lag}
}

// number is a metric with one series.
type number struct {
	name, help string
	kind       exposition.Kind
	value      func(protocol.State) float64
}

func gauge(name, help string, value func(protocol.State) float64) number {
	return number{name, help, exposition.Gauge, value}
}

func counter(name, help string, value func(protocol.State) int64) number {
	return number{name, help, exposition.Counter, func(s protocol.State) float64 { return float64(value(s)) }}
}

func serverNumbers() []number {
	return []number{
		gauge("uptime_seconds", "Time since the server started.", func(s protocol.State) float64 { return s.Uptime.Seconds() }),
		gauge("loading", "1 while the server reads its data from disk.", func(s protocol.State) float64 { return exposition.Truth(s.Loading).Value() }),
		gauge("connected_clients", "Clients that are connected.", func(s protocol.State) float64 { return float64(s.Clients.Connected) }),
		gauge("blocked_clients", "Clients that wait in a blocking command.", func(s protocol.State) float64 { return float64(s.Clients.Blocked) }),
		gauge("memory_used_bytes", "Memory that the server has allocated.", func(s protocol.State) float64 { return float64(s.Memory.Used) }),
		gauge("memory_resident_bytes", "Memory of the process as the kernel counts it.", func(s protocol.State) float64 { return float64(s.Memory.Resident) }),
		gauge("memory_max_bytes", "Limit for the data; 0: none.", func(s protocol.State) float64 { return float64(s.Memory.Max) }),
		gauge("commands_per_second", "Rate of commands at present.", func(s protocol.State) float64 { return float64(s.Counters.CommandsPerSecond) }),
		gauge("save_failed", "1 if the last attempt to write to disk went wrong.", func(s protocol.State) float64 { return exposition.Truth(s.SaveFailed || s.AppendFailed).Value() }),
		counter("commands_total", "Commands processed.", func(s protocol.State) int64 { return s.Counters.Commands }),
		counter("connections_total", "Connections accepted.", func(s protocol.State) int64 { return s.Counters.Connections }),
		counter("keyspace_hits_total", "Look-ups of keys that exist.", func(s protocol.State) int64 { return s.Counters.Hits }),
		counter("keyspace_misses_total", "Look-ups of keys that do not exist.", func(s protocol.State) int64 { return s.Counters.Misses }),
		counter("evicted_keys_total", "Keys evicted for want of memory.", func(s protocol.State) int64 { return s.Counters.Evicted }),
		counter("expired_keys_total", "Keys that expired.", func(s protocol.State) int64 { return s.Counters.Expired }),
	}
}

func replicationNumbers() []number {
	return []number{
		gauge("replication_offset_bytes", "Offset that the server has processed.", func(s protocol.State) float64 { return float64(s.Offset) }),
		gauge("replication_link_up", "1 while the link to the primary is up; 1 on a primary.", func(s protocol.State) float64 {
			return exposition.Truth(s.Link.Up || s.Role == protocol.RolePrimary).Value()
		}),
		gauge("replication_sync_in_progress", "1 while a full synchronisation runs.", func(s protocol.State) float64 { return exposition.Truth(s.SyncInProgress).Value() }),
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
