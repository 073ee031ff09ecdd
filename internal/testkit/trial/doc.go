// Package trial puts a RedisCluster under load while a test does something to it, and judges at the
// end: no confirmed write lost, nothing forked, members equal, never two primaries; and how long
// clients could not write.
//
// The package must never disturb the cluster itself: the fault is the caller's. For tests,
// benchmarks and the demo only.
//
// Start with Begin, then Trial.End.
package trial
