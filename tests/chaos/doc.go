// Package chaos disturbs a RedisCluster at random under load for some minutes, and judges at the end
// what clients saw. The seed is printed: the same seed plans the same faults.
//
//	go test ./tests/chaos -run TestChaos -args -minutes 10 -seed 42
//
// One fault at a time: the promise is that a confirmed write survives any single one. A planned fault
// that did not happen fails the run.
//
// Start with chaos_test.go.
package chaos
