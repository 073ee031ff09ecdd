// Package conditions writes the conditions of a cluster: one function for each type, which takes
// the facts it rests on and picks status, reason and words.
//
// The package is pure: time is an argument, and lastTransitionTime moves only when the status
// flips. It must never read a condition to decide anything: conditions are output.
//
// Start with Writer.
package conditions
