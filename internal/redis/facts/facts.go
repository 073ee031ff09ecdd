// Package facts holds what a Redis or Valkey agent tells the manager and what it is told: plain
// data that travels in wire.Record.Engine and wire.Assignment.Engine.
//
// The package must stay free of behaviour, drivers and Kubernetes. Start with Facts.
package facts

// Facts is the state of a server as its agent read it last.
type Facts struct {
	// Version of the server, from INFO; for Valkey the Valkey version.
	Version string `json:"version,omitempty"`
	// RunID of the server process.
	RunID string `json:"runID,omitempty"`
	// IsPrimary as INFO replication says. A held server is none.
	IsPrimary bool `json:"isPrimary"`
	// ReplID is the lineage of the data; ReplID2 the one before the last promotion, valid up to SecondOffset.
	ReplID       string `json:"replID,omitempty"`
	ReplID2      string `json:"replID2,omitempty"`
	SecondOffset int64  `json:"secondOffset,omitempty"`
	// Offset that the server has processed (master_repl_offset).
	Offset int64 `json:"offset"`
	// Unjoined: since its start the server was neither primary nor linked to one. Its ReplID may then
	// be one that it made up, and its Offset may belong to the history that Stored names.
	Unjoined bool `json:"unjoined,omitempty"`
	// Following is the server, as host:port, that this one replicates from; empty for a primary or a
	// held server.
	Following string `json:"following,omitempty"`
	// LinkUp says whether the link to the primary is up; LinkDownMillis for how long it is not.
	LinkUp         bool  `json:"linkUp"`
	LinkDownMillis int64 `json:"linkDownMillis,omitempty"`
	// LastIOMillis since the last byte from the primary; -1: never or no link.
	LastIOMillis int64 `json:"lastIOMillis"`
	// SyncInProgress: a full synchronisation is running.
	SyncInProgress bool `json:"syncInProgress,omitempty"`
	// Loading: the data is being read from disk.
	Loading bool `json:"loading,omitempty"`
	// FailoverState is master_failover_state: no-failover, waiting-for-sync, failover-in-progress.
	FailoverState string `json:"failoverState,omitempty"`
	// Replicas attached to this primary.
	Replicas []ReplicaLink `json:"replicas,omitempty"`
	// Keys in all databases.
	Keys int64 `json:"keys"`
	// UsedMemory and MaxMemory in bytes; MaxMemory 0: no limit.
	UsedMemory int64 `json:"usedMemory"`
	MaxMemory  int64 `json:"maxMemory"`
	// SyncFull and SyncPartialOK count the synchronisations that this server served.
	SyncFull      int64 `json:"syncFull"`
	SyncPartialOK int64 `json:"syncPartialOK"`
	// Stored is what the agent wrote beside the data before the server started: what the data
	// directory claims. Nil: an empty directory.
	Stored *Stored `json:"stored,omitempty"`
	// ConfigErrors names the parameters that the server refused, with its words.
	ConfigErrors map[string]string `json:"configErrors,omitempty"`
	// PasswordsAccepted are the digests (User.PasswordHashes) that the default user accepts now.
	PasswordsAccepted []string `json:"passwordsAccepted,omitempty"`
}

// ReplicaLink is one replica as its primary sees it.
type ReplicaLink struct {
	// Host is the address that the replica connects from.
	Host string `json:"host"`
	// Online: the synchronisation is complete.
	Online bool `json:"online"`
	// Offset that the replica confirmed.
	Offset int64 `json:"offset"`
	// LagSeconds since its last confirmation.
	LagSeconds int64 `json:"lagSeconds"`
}

// Stored is the lineage of a data directory as the agent recorded it there.
type Stored struct {
	// Cluster is the UID of the cluster that wrote it.
	Cluster string `json:"cluster"`
	// Epoch is the highest epoch that the agent has seen.
	Epoch int64 `json:"epoch"`
	// WasPrimary: the member was primary when this was written.
	WasPrimary bool `json:"wasPrimary"`
	// ReplID and Offset of the data, at most a second before the server stopped.
	ReplID string `json:"replID"`
	Offset int64  `json:"offset"`
	// Keys in all databases at that moment.
	Keys int64 `json:"keys"`
}

// Wishes is what the manager wants of a server beside its role.
type Wishes struct {
	// Parameters of the configuration file, complete. Those that need a restart take effect at
	// the server's next start; the others at once, and are read back.
	Parameters map[string]string `json:"parameters"`
	// RestartOnly names the Parameters that the agent must only write to the configuration file,
	// since the engine takes them at its start alone.
	RestartOnly []string `json:"restartOnly,omitempty"`
	// Users of the server. The agent adds its own.
	Users []User `json:"users"`
	// ReplicationUser and ReplicationPassword with which a replica signs in at its primary.
	ReplicationUser     string `json:"replicationUser"`
	ReplicationPassword string `json:"replicationPassword"`
	// Engine to start: "redis" or "valkey".
	Engine string `json:"engine"`
}

// User is an ACL user of the server.
type User struct {
	Name string `json:"name"`
	// PasswordHashes are SHA-256 digests in hexadecimal; each of them is accepted.
	PasswordHashes []string `json:"passwordHashes"`
	// Rules in the engine's words, for example "~* &* +@all -debug".
	Rules string `json:"rules"`
}
