package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Settings that the agent itself changes.
const (
	minReplicas    = "min-replicas-to-write"
	minReplicasLag = "min-replicas-max-lag"
	// fencedMinReplicas are more than there can be.
	fencedMinReplicas     = "1000"
	defaultMinReplicasLag = "3"
	// primaryUser and primaryPassword have these names in every version of both engines.
	primaryUser     = "masteruser"
	primaryPassword = "masterauth"
)

// defaults are settings that the wishes may override.
func defaults() map[string]string {
	return map[string]string{
		"replica-serve-stale-data": "yes",
		// A replica that must copy everything starts at once, from memory to socket.
		"repl-diskless-sync":       "yes",
		"repl-diskless-sync-delay": "0",
		"repl-ping-replica-period": "1",
		"repl-timeout":             "10",
		// By default a primary that had no replica for an hour takes a new replication ID, and then nobody
		// can tell any more that its replicas continue its history.
		"repl-backlog-ttl": "0",
		minReplicasLag:     defaultMinReplicasLag,
		"shutdown-timeout": "10",
		// Without persistence the file of a synchronisation must not come back at the next start.
		"rdb-del-sync-files": "yes",
	}
}

// isFixed says whether a setting belongs to the agent alone.
func isFixed(name string) bool {
	switch name {
	case "bind", "port", "tls-port", "protected-mode", "dir", "unixsocket", "unixsocketperm", "aclfile", "user",
		"requirepass", "daemonize", "supervised", "pidfile", "logfile", "syslog-enabled", "include",
		"replicaof", "slaveof", "replica-read-only", "slave-read-only",
		primaryUser, primaryPassword, "primaryuser", "primaryauth",
		"cluster-enabled", "shutdown-on-sigterm", "shutdown-on-sigint", "rename-command":
		return true
	}
	return false
}

// wanted is the configuration from the wishes, and what of it must not be.
func wanted(parameters map[string]string) (settings, refused map[string]string) {
	settings, refused = defaults(), map[string]string{}
	for name, value := range parameters {
		name = strings.ToLower(name)
		switch {
		case isFixed(name):
			refused[name] = "belongs to the operator"
		case !isSettingName(name):
			refused[name] = "is not a name of a setting"
		case strings.ContainsAny(value, "\x00\n\r"):
			refused[name] = "has a control character in its value"
		default:
			settings[name] = value
		}
	}
	return settings, refused
}

func isSettingName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// renderConfig writes the configuration file.
func renderConfig(fixed, settings map[string]string) string {
	var b strings.Builder
	b.WriteString("# Written by the agent at every start of the server.\n")
	for _, part := range []map[string]string{fixed, settings} {
		for _, name := range slices.Sorted(maps.Keys(part)) {
			fmt.Fprintf(&b, "%s %s\n", name, renderValue(name, part[name]))
		}
	}
	return b.String()
}

// renderValue quotes a value. The engines take a setting of several words in one pair of quotes,
// except these directives, which are no settings to them.
func renderValue(name, value string) string {
	if name != "loadmodule" && name != "bind" && name != "replicaof" {
		return quote(value)
	}
	words := strings.Fields(value)
	for n, w := range words {
		words[n] = quote(w)
	}
	return strings.Join(words, " ")
}

// quote makes one argument in the syntax of the engines' files.
func quote(value string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(value) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// sameValue says whether a wish and what the server reports mean the same.
func sameValue(name, wish, live string) bool {
	if wish == live {
		return true
	}
	switch name {
	case "client-output-buffer-limit":
		return limitsHold(normal(wish), normal(live))
	case "notify-keyspace-events":
		return sortedLetters(wish) == sortedLetters(live)
	}
	return normal(wish) == normal(live)
}

// normal is a value in lower case, with single spaces and sizes in bytes.
func normal(value string) string {
	words := strings.Fields(strings.ToLower(value))
	for n, w := range words {
		if bytes, ok := sizeInBytes(w); ok {
			words[n] = bytes
		} else if w == "replica" {
			// The engine reports the class of clients under its older name.
			words[n] = "slave"
		}
	}
	return strings.Join(words, " ")
}

// limitsHold compares triples of limits per class: a wish may name some classes only.
func limitsHold(wish, live string) bool {
	have := limitsByClass(live)
	for class, limits := range limitsByClass(wish) {
		if have[class] != limits {
			return false
		}
	}
	return true
}

func limitsByClass(value string) map[string]string {
	classes := map[string]string{}
	for part := range slices.Chunk(strings.Fields(value), 4) {
		classes[part[0]] = strings.Join(part[1:], " ")
	}
	return classes
}

func sortedLetters(value string) string {
	letters := []rune(value)
	slices.SortFunc(letters, func(a, b rune) int { return cmp.Compare(a, b) })
	return string(letters)
}
