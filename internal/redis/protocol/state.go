package protocol

import "time"

// Role of a server, in its own eyes.
type Role string

// The roles.
const (
	RolePrimary Role = "primary"
	RoleReplica Role = "replica"
)

// HandOver is the progress of a hand-over, in the engine's words.
type HandOver string

// The states of a hand-over.
const (
	HandOverNone     HandOver = "no-failover"
	HandOverWaiting  HandOver = "waiting-for-sync"
	HandOverChanging HandOver = "failover-in-progress"
)

// Never is a duration since something that did not happen.
const Never time.Duration = -1

// State of a server at one moment.
type State struct {
	// Version of the engine; for Valkey the Valkey version.
	Version string
	RunID   string
	Uptime  time.Duration
	// Loading: the data is being read from disk.
	Loading bool

	Role     Role
	HandOver HandOver
	// ReplID is the lineage; ReplID2 the one before the last promotion, valid up to SecondOffset.
	ReplID, ReplID2 string
	Offset          int64
	SecondOffset    int64
	// Primary that a replica follows, and how the link is.
	Primary        Address
	Link           Link
	SyncInProgress bool
	// Replicas attached to this server.
	Replicas []Replica

	Memory    Memory
	Clients   Clients
	Counters  Counters
	Databases []Database
	// Changes counts what was written since the last snapshot, here or by the primary. It stands still
	// while only the offset moves by the engine's own messages.
	Changes int64
	// SaveFailed and AppendFailed: the last attempt to write to disk went wrong.
	SaveFailed, AppendFailed bool
	// Rewriting: the append-only file is being written anew, or about to be.
	Rewriting bool
}

// Link from a replica to its primary.
type Link struct {
	Up bool
	// DownFor is how long the link is down; Never: it was not up since the server started.
	DownFor time.Duration
	// LastIO is the time since the last byte; Never: no link.
	LastIO time.Duration
}

// Replica as its primary sees it.
type Replica struct {
	Address Address
	// Online: the synchronisation is complete.
	Online bool
	// Offset that it confirmed, Lag since it did.
	Offset int64
	Lag    time.Duration
}

// Memory of a server in bytes. Max 0: no limit.
type Memory struct{ Used, Resident, Max int64 }

// Clients that are connected, and those of them that wait in a blocking command.
type Clients struct{ Connected, Blocked int64 }

// Counters since the server started, and the rate of commands at present.
type Counters struct {
	Commands, Connections, CommandsPerSecond int64
	Hits, Misses, Evicted, Expired           int64
	SyncFull, SyncPartial, SyncPartialFailed int64
}

// Database is one keyspace that holds keys.
type Database struct {
	Name          string
	Keys, Expires int64
}

// Keys in all databases.
func (s State) Keys() int64 {
	var n int64
	for _, d := range s.Databases {
		n += d.Keys
	}
	return n
}
