// Package cgroup keeps the processes of each machine of a cluster (a node, the
// control plane, the services on the host) in a control group of its own. The
// group is the record of what runs: everything in it is found, frozen, thawed
// and killed through it, also after a crash of the tool.
//
// Both the first and the second version of control groups are supported behind
// one type; Detect finds out which one the machine has.
//
// It must never touch a group that it did not make: all names begin with the
// prefix of the network package.
//
// Start reading at Hierarchy.
package cgroup
