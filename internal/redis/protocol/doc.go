// Package protocol speaks to one Redis or Valkey server in the words of the domain: follow,
// promote, hand over, settings, users. The driver never leaks out of it.
//
// It must never decide anything: no role is chosen and no command is repeated here. Every call
// is bounded by its context and, at most, by Options.Timeout.
// A server that refuses (RefusedError) is told apart from one that does not answer (any other
// error), since an unreachable server proves nothing.
//
// Start with Server in server.go; Dial gives the real one, package fake one in memory, and
// package contract holds the cases that both must pass.
package protocol
