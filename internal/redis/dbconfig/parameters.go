package dbconfig

import (
	"maps"
	"slices"
	"strings"
)

// Class says how a change of a parameter takes effect.
type Class string

// The classes of parameters.
const (
	// Hot: the running server takes it over. It is also the class of a parameter that the table does
	// not know: the agent tries, and reports the server's words if it refuses.
	Hot Class = "Hot"
	// Restart: the server reads it only when it starts.
	Restart Class = "Restart"
	// Owned: the operator sets it, the user must not.
	Owned Class = "Owned"
)

// restartOnly are the parameters that no supported version of either engine changes while it
// runs, or only some: an ordered restart suits all (Valkey 9 takes io-threads live). Moving a hot parameter here restarts the clusters that set it when the operator is
// upgraded: only do so for one that the server refuses anyway.
var restartOnly = map[string]struct{}{
	"always-show-logo":    {},
	"aof-rewrite-cpulist": {},
	"bgsave-cpulist":      {},
	"bio-cpulist":         {},
	"client-default-resp": {},
	"databases":           {},
	"disable-thp":         {},
	"hash-seed":           {},
	"io-threads":          {},
	"io-threads-do-reads": {},
	"mptcp":               {},
	"rdbchecksum":         {},
	"repl-mptcp":          {},
	"server-cpulist":      {},
	"socket-mark-id":      {},
	"syslog-facility":     {},
	"syslog-ident":        {},
	"tcp-backlog":         {},
}

// owned are the parameters that the operator or the agent sets, with the way out for a user.
var owned = map[string]string{
	"aclfile":                  useAuth,
	"appenddirname":            fixed,
	"appendfilename":           fixed,
	"bind":                     fixed,
	"crash-log-enabled":        fixed,
	"daemonize":                fixed,
	"dbfilename":               fixed,
	"dir":                      fixed,
	"enable-debug-command":     fixed,
	"enable-module-command":    fixed,
	"enable-protected-configs": fixed,
	"include":                  fixed,
	"loadmodule":               fixed,
	"locale-collate":           fixed,
	"logfile":                  fixed,
	"masterauth":               useAuth,
	"masteruser":               useAuth,
	"min-replicas-max-lag":     useDurability,
	"min-replicas-to-write":    useDurability,
	"min-slaves-max-lag":       useDurability,
	"min-slaves-to-write":      useDurability,
	"pidfile":                  fixed,
	"port":                     fixed,
	"primaryauth":              useAuth,
	"primaryuser":              useAuth,
	"proc-title-template":      fixed,
	"protected-mode":           fixed,
	"rename-command":           fixed,
	"replica-announce-ip":      fixed,
	"replica-announce-port":    fixed,
	"replica-announced":        fixed,
	"replica-priority":         useReplicas,
	"replica-read-only":        useReplicas,
	"replica-serve-stale-data": useReplicas,
	"replicaof":                useReplicas,
	"requirepass":              useAuth,
	"repl-backlog-ttl":         fixed,
	"repl-ping-replica-period": fixed,
	"repl-ping-slave-period":   fixed,
	"set-proc-title":           fixed,
	"shutdown-on-sigint":       fixed,
	"shutdown-on-sigterm":      fixed,
	"shutdown-timeout":         fixed,
	"slave-announce-ip":        fixed,
	"slave-announce-port":      fixed,
	"slave-announced":          fixed,
	"slave-priority":           useReplicas,
	"slave-read-only":          useReplicas,
	"slave-serve-stale-data":   useReplicas,
	"slaveof":                  useReplicas,
	"supervised":               fixed,
	"syslog-enabled":           fixed,
	"unixsocket":               fixed,
	"unixsocketgroup":          fixed,
	"unixsocketperm":           fixed,
	"user":                     useAuth,
}

// Ways out that the messages name.
const (
	fixed         = "the operator sets it and it cannot be changed"
	useAuth       = "use spec.auth"
	useDurability = "use spec.durability"
	useReplicas   = "the operator arranges replication; use spec.replicas"
)

// ownedPrefixes are families of owned parameters.
var ownedPrefixes = map[string]string{
	"cluster-": "mode Replication does not use Redis Cluster",
	"tls-":     "TLS of clients is not supported yet",
	"rdma-":    "RDMA is not supported yet",
	"sentinel": "mode Replication does not use Sentinel",
}

// Classify returns the class of a parameter.
func Classify(name string) Class {
	if _, ok := wayOut(name); ok {
		return Owned
	}
	if _, ok := restartOnly[name]; ok {
		return Restart
	}
	return Hot
}

// OwnedParameters are the names of Owned parameters, and the prefixes of others, sorted. The API
// refuses the same ones at admission.
func OwnedParameters() (names, prefixes []string) {
	return slices.Sorted(maps.Keys(owned)), slices.Sorted(maps.Keys(ownedPrefixes))
}

// wayOut returns what a user can do instead of setting an owned parameter.
func wayOut(name string) (string, bool) {
	if w, ok := owned[name]; ok {
		return w, true
	}
	for prefix, w := range ownedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return w, true
		}
	}
	return "", false
}
