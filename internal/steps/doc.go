// Package steps runs the ordered, named steps of one pass over a shared state, and collects when
// to come back and why.
//
// A reconciler then reads as a list. The package knows neither Kubernetes nor the state; it must
// never sleep, retry or swallow an error.
//
// Start with Run.
package steps
