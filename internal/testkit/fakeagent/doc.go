// Package fakeagent is an agent without a server: it speaks internal/wire over HTTP/2 with mutual
// TLS, keeps the epoch rules, and says of its member whatever a test or a simulation tells it to.
//
// It is for tests and for simulated fleets only and must never be part of a product binary.
//
// Start with Agent.
package fakeagent
