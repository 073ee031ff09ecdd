// Package apistore is an API server in memory for tests that look at every single write: typed
// objects, server-side apply with real field managers, merge patches, optimistic locks, UID
// preconditions, and resource versions that count over all objects, as those of a real one do.
//
// What it has beyond other fakes is why it exists. A Store can be copied in no time, so that a test
// can go back to the moment before or after any write. A View is a cache that may be behind. A Gate
// sees each write of a client and may refuse it or lose its answer.
//
// It must never be kinder than a real API server: what a client must not rely on, it does not get.
// It validates nothing and defaults nothing; tests/envtest has the real one for that.
//
// Start with Store, then Client.
package apistore
