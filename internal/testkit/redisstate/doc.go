// Package redisstate builds topology.State values for tests, from a settled cluster and what is
// different about it, and puts decisions into short words that a table can hold.
//
// It is for tests only. It must never know a rule of the decision: what it builds is what a test
// says, even when no cluster could be in that state.
//
// Start with Settled, then Member and Transition; Words renders a Decision.
package redisstate
