// Package cluster puts the others together: it brings a cluster up step by
// step, takes it down, tells how it is, and does to nodes and cables what tests
// ask for. What runs is read from control groups, namespaces and processes,
// never from a belief about what was started.
//
// It must never return before what it did is in force and seen to be.
//
// Start reading at up.go and down.go; faults are in nodes.go and cuts.go.
package cluster
