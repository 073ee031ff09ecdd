package protocol

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// info is the text of INFO as a map. The names of its fields are the engine's own.
type info map[string]string

func splitInfo(text string) info {
	// About the number of fields of the sections that are read, so that the map need not grow.
	fields := make(info, 256)
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			fields[name] = value
		}
	}
	return fields
}

// number of a field; 0 if the server's version does not report it.
func (i info) number(name string) int64 {
	n, _ := strconv.ParseInt(i[name], 10, 64)
	return n
}

// seconds of a field; Never if it is absent or negative.
func (i info) seconds(name string) time.Duration {
	n, err := strconv.ParseInt(i[name], 10, 64)
	if err != nil || n < 0 {
		return Never
	}
	return time.Duration(n) * time.Second
}

func parseState(text string) State {
	i := splitInfo(text)
	s := State{
		Version:      cmp.Or(i["valkey_version"], i["redis_version"]),
		RunID:        i["run_id"],
		Uptime:       time.Duration(i.number("uptime_in_seconds")) * time.Second,
		Loading:      i["loading"] == "1" || i["async_loading"] == "1",
		HandOver:     HandOver(i["master_failover_state"]),
		ReplID:       i["master_replid"],
		Offset:       i.number("master_repl_offset"),
		SecondOffset: i.number("second_repl_offset"),
		Replicas:     parseReplicas(i),
		Memory:       Memory{Used: i.number("used_memory"), Resident: i.number("used_memory_rss"), Max: i.number("maxmemory")},
		Clients:      Clients{Connected: i.number("connected_clients"), Blocked: i.number("blocked_clients")},
		Counters:     parseCounters(i),
		Databases:    parseDatabases(i),
		Changes:      i.number("rdb_changes_since_last_save"),
		SaveFailed:   i["rdb_last_bgsave_status"] == "err",
		AppendFailed: i["aof_last_write_status"] == "err" || i["aof_last_bgrewrite_status"] == "err",
		Rewriting:    i["aof_rewrite_in_progress"] == "1" || i["aof_rewrite_scheduled"] == "1",
	}
	// The engine fills the field with zeros when there is no earlier lineage.
	if id := i["master_replid2"]; strings.Trim(id, "0") != "" {
		s.ReplID2 = id
	}
	parseLink(i, &s)
	return s
}

func parseLink(i info, s *State) {
	s.Link = Link{DownFor: Never, LastIO: Never}
	if i["role"] != "slave" {
		s.Role = RolePrimary
		return
	}
	s.Role = RoleReplica
	s.Primary = Address{Host: i["master_host"], Port: int32(i.number("master_port"))}
	s.SyncInProgress = i["master_sync_in_progress"] == "1"
	s.Link.Up = i["master_link_status"] == "up"
	s.Link.LastIO = i.seconds("master_last_io_seconds_ago")
	if !s.Link.Up {
		s.Link.DownFor = i.seconds("master_link_down_since_seconds")
	}
}

func parseCounters(i info) Counters {
	return Counters{
		Commands:          i.number("total_commands_processed"),
		Connections:       i.number("total_connections_received"),
		CommandsPerSecond: i.number("instantaneous_ops_per_sec"),
		Hits:              i.number("keyspace_hits"),
		Misses:            i.number("keyspace_misses"),
		Evicted:           i.number("evicted_keys"),
		Expired:           i.number("expired_keys"),
		SyncFull:          i.number("sync_full"),
		SyncPartial:       i.number("sync_partial_ok"),
		SyncPartialFailed: i.number("sync_partial_err"),
	}
}

// parseReplicas reads the numbered fields "slave0:ip=10.0.0.7,port=6379,state=online,offset=42,lag=0".
func parseReplicas(i info) []Replica {
	var replicas []Replica
	for n := range i.number("connected_slaves") {
		f := splitList(i["slave"+strconv.FormatInt(n, 10)])
		if f["ip"] == "" {
			continue
		}
		replicas = append(replicas, Replica{
			Address: Address{Host: f["ip"], Port: int32(f.number("port"))},
			Online:  f["state"] == "online",
			Offset:  f.number("offset"),
			Lag:     time.Duration(f.number("lag")) * time.Second,
		})
	}
	return replicas
}

// parseDatabases reads the fields "db0:keys=12,expires=3,avg_ttl=0".
func parseDatabases(i info) []Database {
	var all []Database
	for name, value := range i {
		number, isDB := strings.CutPrefix(name, "db")
		if _, err := strconv.Atoi(number); !isDB || err != nil {
			continue
		}
		f := splitList(value)
		all = append(all, Database{Name: name, Keys: f.number("keys"), Expires: f.number("expires")})
	}
	slices.SortFunc(all, func(a, b Database) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func splitList(text string) info {
	fields := info{}
	for part := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			fields[name] = value
		}
	}
	return fields
}
