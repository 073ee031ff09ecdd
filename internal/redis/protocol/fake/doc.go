// Package fake is a network of Redis servers in memory, for tests of what drives them. It passes
// the same contract as real servers do (package contract).
//
// It must never be more lenient than a real server: what is refused there is refused here, in the
// same words where a caller reads them.
//
// Start with Network.Start.
package fake
