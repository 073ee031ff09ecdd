// Package agent drives a Redis or Valkey server for the runtime in internal/agent: it renders the
// configuration and the access control list, reads facts, and applies roles and wishes.
//
// What it must never do: reset, flush or empty a server; send a replica to another primary than
// the assignment's; repeat an order to follow while the handshake with the same primary runs;
// write a password anywhere but into the server and the 0600 files of the run directory.
//
// Every server boots following protocol.Nowhere: read-only, with the lineage and offset of its
// data file, so that it can later resume where it was.
//
// Start with Engine in engine.go; apply.go holds the order of the steps.
package agent
