// Package history records what clients did to a database and what came of it: one event per
// operation, all on one monotonic clock, so that a checker can later tell what must have survived.
//
// The package must never judge: an event says what a client saw, and package check says what that means.
// For tests, benchmarks and the demo only.
//
// Start with Event, then Recorder.
package history
