// Package check judges a history against what the members hold at the end: what was acknowledged
// must be there, what was refused must not, no value twice, no list in two versions, and all
// members equal. It also measures how long clients could not write.
//
// The package must stay pure: it reads no clock and opens no connection, so that a saved history can
// be judged again. For tests, benchmarks and the demo only.
//
// Start with Run.
package check
