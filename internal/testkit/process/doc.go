// Package process finds and disturbs the processes of a pod from the machine that runs the nodes: it
// kills, freezes and thaws a database server behind the back of everything that supervises it, and
// proves that it happened.
//
// It must touch only processes of the pod that it was asked for. It works where nodes share the
// machine's process table, as those of hack/devcluster do; elsewhere it finds nothing and says so.
//
// Start with Find.
package process
