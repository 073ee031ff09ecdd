// Command demo shows Holdfast to somebody who has just cloned it: a cluster, the operator, a
// RedisCluster of three members, the death of its primary under a write load, and what that cost.
// It leaves everything running. `make demo` builds and starts it.
//
// It must never touch a RedisCluster or a namespace that an earlier demo did not make, never print a
// password, and never end well when an acknowledged write is missing.
//
// Start with demo.go.
package main
