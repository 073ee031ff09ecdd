// Package observe turns what the API server and the agents say about a RedisCluster into one
// topology.State: the only snapshot that a pass decides from.
//
// It reads nothing itself: its Input was read before. It must never turn a missing fact into a
// zero: a record that cannot be read, or an agent that is silent, stays unknown in the State.
//
// Start with Snapshot.
package observe
