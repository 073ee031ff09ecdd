// Package e2e holds the end-to-end tests: real clusters of Redis and Valkey on a real Kubernetes
// cluster, disturbed under load, and judged by what clients saw.
//
// A spec must prove that its fault happened, must leave the cluster under test as it was, and must
// never read the operator's mind: it asks the API, the Services and the databases.
//
// Start with environment_test.go for what a run needs, then faults_test.go.
package e2e
