// Package scrape guards the manager's metrics: only a caller whose token the API server knows, and
// whom it allows to get the path, is served.
//
// It must never serve a caller that the API server could not be asked about, and never log or keep
// a token. It does what controller-runtime's own filter does; that one brings k8s.io/apiserver with
// it, and with it a third of the binary and 20 MiB of the manager's resident memory.
//
// Start with Authorized.
package scrape
