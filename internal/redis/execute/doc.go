// Package execute carries out the steps of a topology.Decision: stores intents, moves the route,
// gives orders to agents, deletes pods.
//
// Each step checks again what it rests on: a store carries the resource version that was read, an
// order carries the epoch, a delete carries the UID. So a step whose ground has shifted fails, and
// the next pass decides anew. The package must never decide: no step is added, skipped or reordered
// here, except that an order which an agent already obeys is not sent again.
//
// Start with Executor.Run.
package execute
