// Package agent is the process that runs beside a database server in its container: it starts,
// watches, stops and kills the server, tells the manager what is, and makes the server what the
// manager's newest Assignment says. It knows no engine; it drives one through Engine.
//
// What it must never do:
//   - choose a role. Every server boots held, and only an order with an epoch changes that.
//   - obey an order older than the highest epoch it has seen, or give the role of primary back to
//     a new server process under the epoch of the dead one.
//   - act on a raised epoch before it is on disk.
//   - wait for the server, the disk or the network on the loop that owns the state: heartbeats,
//     the lease and a Kill must go on while the server hangs.
//
// One goroutine (loop.go) owns the state (member in member.go) and decides, after every event,
// what to do next (advance.go). Work that takes time runs as a job (jobs.go), one at a time, and
// comes back to the loop as an event. The lease and the isolation rule are in lease.go and
// contacts.go, the paths for the manager and the peers in server.go and stream.go.
//
// Start reading with Agent.Run in run.go, then advance.go.
package agent
