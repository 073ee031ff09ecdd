// Package fleet holds the real manager, in a process of its own, to what it promises about clusters
// to which nothing happens: every heartbeat of every agent is answered, and nothing is written.
//
// The agents are simulated; see hack/bench/idle, which also prints the figures. The test must not
// look at memory or CPU: those depend on the machine.
//
// Start with TestIdleClustersCostNoWrites.
package fleet
