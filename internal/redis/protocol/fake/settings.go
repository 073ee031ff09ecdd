package fake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kind of a setting's values.
type kind int

const (
	text kind = iota
	integer
	memory
	truth
	immutable
)

// known are the settings that the fake has; enough to stand for each kind.
func known() map[string]kind {
	return map[string]kind{
		"save": text, "appendonly": truth, "masteruser": text, "masterauth": text, "maxmemory-policy": text,
		"client-output-buffer-limit": text, "notify-keyspace-events": text,
		"maxclients": integer, "timeout": integer, "min-replicas-to-write": integer, "min-replicas-max-lag": integer,
		"repl-timeout": integer, "repl-backlog-ttl": integer, "repl-ping-replica-period": integer, "repl-diskless-sync-delay": integer, "shutdown-timeout": integer,
		"maxmemory": memory, "repl-backlog-size": memory,
		"repl-diskless-sync": truth, "replica-serve-stale-data": truth, "rdb-del-sync-files": truth,
		"databases": immutable, "appendfilename": immutable,
	}
}

func defaultSettings() map[string]string {
	return map[string]string{
		"save": "3600 1 300 100 60 10000", "appendonly": "no", "masteruser": "", "masterauth": "", "maxmemory-policy": "noeviction",
		"client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", "notify-keyspace-events": "",
		"maxclients": "10000", "timeout": "0", "min-replicas-to-write": "0", "min-replicas-max-lag": "10",
		"repl-timeout": "60", "repl-backlog-ttl": "3600", "repl-ping-replica-period": "10", "repl-diskless-sync-delay": "5", "shutdown-timeout": "10",
		"maxmemory": "0", "repl-backlog-size": "1048576",
		"repl-diskless-sync": "yes", "replica-serve-stale-data": "yes", "rdb-del-sync-files": "no",
		"databases": "16", "appendfilename": "appendonly.aof",
	}
}

// Settings implements protocol.Settings.
func (s *Server) Settings(_ context.Context, names []string) (map[string]string, error) {
	if err := s.enter("Settings"); err != nil {
		return nil, err
	}
	defer s.net.mu.Unlock()
	out := map[string]string{}
	for _, n := range names {
		if v, ok := s.settings[n]; ok {
			out[n] = v
		}
	}
	return out, nil
}

// ChangeSettings implements protocol.Settings.
func (s *Server) ChangeSettings(_ context.Context, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	if err := s.enter("ChangeSettings"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	next := maps.Clone(s.settings)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		k, ok := known()[name]
		if !ok {
			return refused("change settings", fmt.Sprintf("ERR Unknown option or number of arguments for CONFIG SET - '%s'", name))
		}
		value, complaint := read(k, values[name])
		if complaint != "" {
			return refused("change settings", fmt.Sprintf("ERR CONFIG SET failed (possibly related to argument '%s') - %s", name, complaint))
		}
		next[name] = value
	}
	s.settings = next
	return nil
}

// read returns a value as the server will report it, or a complaint.
func read(k kind, value string) (reported, complaint string) {
	switch k {
	case integer:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return "", "argument couldn't be parsed into an integer"
		}
	case truth:
		if value != "yes" && value != "no" {
			return "", "argument must be 'yes' or 'no'"
		}
	case memory:
		bytes, ok := parseMemory(value)
		if !ok {
			return "", "argument must be a memory value"
		}
		return bytes, ""
	case immutable:
		return "", "can't set immutable config"
	case text:
	}
	return value, ""
}

func parseMemory(value string) (string, bool) {
	value = strings.ToLower(value)
	factor := int64(1)
	for _, unit := range []struct {
		suffix string
		factor int64
	}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"k", 1000}, {"m", 1000000}, {"g", 1000000000}, {"b", 1}} {
		if rest, ok := strings.CutSuffix(value, unit.suffix); ok {
			value, factor = rest, unit.factor
			break
		}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return "", false
	}
	return strconv.FormatInt(n*factor, 10), true
}
