// Package pki gives each cluster a certificate authority of its own, from which the agents and the
// manager prove to each other who they are.
//
// Two Secrets hold it: the authority's, which only the manager reads, and the agents', which is
// mounted into the pods. Plan is a pure function from what the two hold to what they shall hold; it
// renews certificates and replaces authorities in stages that overlap, and heals what a crash
// between two writes or a careless hand left behind.
//
// The package must never yield a connection without TLS: what cannot be read is an error or is made
// anew. It must never change what needs no change, since each write reaches every pod. Keys and
// serial numbers come from Go's own secure source, which takes no reader from callers.
//
// Start with Plan; stages are explained there. client.go is the manager's side of a connection.
package pki
