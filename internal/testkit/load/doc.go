// Package load runs clients against a Redis or Valkey primary and records all that they see: unique
// values added to sets and appended to lists, each followed by WAIT 1 on the same connection, and a
// new connection to the same address after each error. It also reads back what a member holds.
//
// The clients must never retry an operation: a retry would hide a lost answer. For tests, benchmarks
// and the demo only.
//
// Start with Options and Start.
package load
