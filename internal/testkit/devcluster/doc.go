// Package devcluster asks the tool of hack/devcluster for faults of nodes and of the network, through
// its command line: the tool is a module of its own.
//
// The tool returns once a fault is in force and fails if it could not be put in force; the package
// must never hide that: a fault that did not happen must not count as a pass. For tests and benchmarks only.
//
// Start with Tool.
package devcluster
