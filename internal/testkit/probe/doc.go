// Package probe looks for two primaries while a test runs: it watches where the primary Service
// leads, and asks every member directly, ten times a second, what it takes itself for and whether it
// acknowledges a write that a replica confirms.
//
// It tells a claim (a server says that it is primary) from an effect (its writes are confirmed): a
// primary that is cut off may claim for a while, but must have no effect. It must never disturb what it
// watches beyond one small write. For tests, benchmarks and the demo only.
//
// Start with Start, and with Report for the verdict.
package probe
