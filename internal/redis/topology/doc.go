// Package topology decides who is primary of a Redis replica set and what happens next.
//
// Decide is a pure function of a State (what is wanted, what was stored, what was observed) to a
// Decision (a named state of the cluster, ordered steps, the earliest wake-up). It reads no clock:
// every age in the State was computed by the observer. It never acts on what is unknown: an
// agent out of reach is not a dead server.
//
// How a failover keeps every confirmed write (I1, I2, I7), in the order of its steps:
//
//  1. The intent with a higher epoch is stored, then the route to the old primary is taken away.
//  2. Every reachable member is held at the new epoch. A held replica has cut its link, so it
//     confirms nothing to the old primary any more, and its offset no longer moves.
//  3. The primary so far must be unable to take writes: its server is proven dead, or held, or
//     its lease has run out (nobody who could prolong it has been in touch for longer than the lease).
//  4. Of the members that may hold a confirmed write (the sync set, R members) at least R-k+1 are
//     held, where k is the number of confirmations that count. So every confirmed write is on one of them.
//  5. The one with the highest offset of the lineage is elected, stored, and only then promoted.
//     It stays the candidate until it is proven dead, or seen restarted and not promoted.
//
// Nothing here times out into a promotion: where a proof is missing, the Decision says which
// member is waited for. The same table of states, with the argument for each, is in
// docs/designs/failover.md.
//
// Start reading in decide.go.
package topology
