// Package lab is a Kubernetes cluster under test: it makes namespaces and RedisClusters, waits for
// what they should become, finds members, their addresses and the manager's leader, and collects what
// a person needs to understand a failure.
//
// The package must never decide a test: it observes and waits, and says what it saw when a wait
// ends. For tests, benchmarks and the demo only.
//
// Start with Open, then Lab.NewRedis.
package lab
