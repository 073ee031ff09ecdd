// Package rollout decides when members of a cluster are restarted for a change of the spec, and why.
//
// It has two halves. Parts records on each pod what it was made from, in words where they are
// short, so that Diff can say why a pod is outdated: "image redis:8.0.5 → redis:8.0.6". Next picks
// the one thing to do now: replicas first, the primary last and by hand-over, never a second
// member down.
//
// The package is pure and knows no engine. It must never call a member outdated for something
// that the user did not change: an upgrade of the operator restarts no database.
//
// Start with Parts, then Next.
package rollout
