// Package fault makes the faults that tests and benchmarks plan: of a server's process, of a pod, of a
// node and of the network. Each returns once the fault is in force, and fails if it is not.
//
// The package must never choose when or what: it only does. For tests and benchmarks only.
//
// Start with Kit.
package fault
