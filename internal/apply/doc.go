// Package apply brings the objects that a cluster is made of to the API server: by server-side
// apply with one field owner, and not at all when nothing of ours differs.
//
// What is ours is read from the object's managed fields. So a steady cluster costs no write, also
// right after a restart of the manager; a field that we no longer want disappears; and what others
// add to the object stays. The manager's cache must therefore keep managed fields.
//
// The package must never touch an object that belongs to somebody else, and never delete by name
// alone: every delete carries the UID of the object that was judged.
//
// Start with Applier.Apply; owned.go holds the comparison.
package apply
