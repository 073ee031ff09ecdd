// Package process runs the long-lived processes of a cluster. A Machine is a
// list of units that live together in namespaces of their own, under an init
// process that this binary provides: it mounts what the machine needs, starts
// the units in order, starts them again when they die, and reaps orphans.
// Killing that init takes everything with it, as pulling the plug would.
//
// Launch starts a machine from the outside; Init is its first process.
//
// It must never keep state of its own beyond the description it was given, and
// never signal a process by number without knowing its start time (Identity).
//
// Start reading at machine.go, then init.go.
package process
