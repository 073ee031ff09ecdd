// Package idle measures what the manager costs while nothing happens: memory, CPU, passes and
// writes to the API server with a number of idle clusters.
//
// The manager is the real binary, against a real API server. The agents are simulated: each listens
// on an address of its own, is dialled over mutual TLS, and sends the heartbeats and facts of a
// settled member, offsets and ages in motion. All of it lives in a network namespace made for the
// run, so that it meets nothing else on the machine. The package must not count what it does
// itself: the simulation runs in a process of its own, and only the manager is measured.
//
// Start with Run; world has what runs in the namespace.
package idle
