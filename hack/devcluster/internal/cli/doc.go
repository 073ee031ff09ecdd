// Package cli is the command line of devcluster: it reads flags, calls the
// cluster package and prints. It must never do anything itself that a test
// would want to do without a command line.
//
// Start reading at Root.
package cli
