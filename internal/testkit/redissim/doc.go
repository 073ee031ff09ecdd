// Package redissim is a world for a reconciler of RedisClusters: an API server in memory, the parts
// of Kubernetes that make and stop pods, agents with servers and volumes, clients that write, and
// a clock that only a test moves. Nothing in it is random and nothing sleeps, and a World can be
// copied at any moment, so that a test can go back to the moment before or after any write of the
// manager and let it die there.
//
// The agents obey the rules of internal/wire as the real ones do: epochs on disk, held at every
// boot, a lease, refusals. The servers replicate as the engines do: lineages, offsets, partial
// and full synchronisation. tests/e2e has the real ones. The package must never look into the
// reconciler, nor help it: a rule that an agent does not enforce must not be enforced here.
//
// Start with World, then Manager; check.go holds what must be true after every step.
package redissim
