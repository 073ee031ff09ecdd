package protocol

import (
	"context"
	"time"
)

// Observer reads the state of a server.
type Observer interface {
	// State reads everything in one round trip.
	State(ctx context.Context) (State, error)
}

// Replication changes from whom a server replicates.
type Replication interface {
	// Follow makes the server a replica of primary. Nowhere cuts the link and keeps the data, the
	// offset and the lineage, so that a later Follow can resume.
	Follow(ctx context.Context, primary Address) error
	// Promote makes the server a primary; its lineage goes on from the present offset.
	Promote(ctx context.Context) error
	// Confirmed has the replicas confirm all that the server has written so far, at once instead of
	// within their usual second, and returns how many did. It waits for n of them or for within.
	Confirmed(ctx context.Context, n int, within time.Duration) (int, error)
	// BeginHandOver makes a primary pause writes, wait until to has all data, and become its
	// replica. It returns at once; State.HandOver tells the progress.
	BeginHandOver(ctx context.Context, to Address, timeout time.Duration) error
	// Swap is BeginHandOver for a primary that refuses writes and whose replica has confirmed everything:
	// the server does not wait for another confirmation, which would come within a second.
	Swap(ctx context.Context, to Address) error
	// AbortHandOver ends a hand-over that is under way; the server stays primary.
	AbortHandOver(ctx context.Context) error
	// DisconnectClients closes the connections of all clients but replicas and the caller's own.
	DisconnectClients(ctx context.Context) error
}

// Settings reads and changes the running configuration.
type Settings interface {
	// Settings returns the values of those names that the server knows.
	Settings(ctx context.Context, names []string) (map[string]string, error)
	// ChangeSettings sets all values or, if the server refuses one, none.
	ChangeSettings(ctx context.Context, values map[string]string) error
}

// Users reads and changes the server's access control list.
type Users interface {
	// Users returns the rules of every user by name, as the server words them.
	Users(ctx context.Context) (map[string]string, error)
	// SetUser replaces a user's rules as one atomic step; connections stay.
	SetUser(ctx context.Context, name string, rules []string) error
	// RemoveUser deletes a user and closes its connections.
	RemoveUser(ctx context.Context, name string) error
}

// Lifecycle ends a server or the connection to it.
type Lifecycle interface {
	// Shutdown orders the server to end. It returns when the server hung up or refused.
	Shutdown(ctx context.Context, data DataAtShutdown) error
	// Close drops the connections. The server runs on.
	Close() error
}

// Server is all of it.
type Server interface {
	Observer
	Replication
	Settings
	Users
	Lifecycle
}

// DataAtShutdown says what becomes of the data in memory.
type DataAtShutdown string

// The choices at a shutdown.
const (
	// SaveAsConfigured writes what the server's own save rules ask for.
	SaveAsConfigured DataAtShutdown = "save-as-configured"
	// KeepFiles leaves the files as they are, for a server whose memory is not a complete data set.
	KeepFiles DataAtShutdown = "keep-files"
)

// Address of a server.
type Address struct {
	Host string
	Port int32
}

// Nowhere is an address on which nothing listens: a server that follows it is read-only, replicates
// from nobody and keeps its lineage.
func Nowhere() Address { return Address{Host: "127.0.0.1", Port: 1} }
