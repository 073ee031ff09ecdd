// Package objects asks a real API server about the API of Holdfast and about the objects it makes:
// which specs are taken and with which defaults, which are refused and with which words, and that
// applying the same objects again writes nothing.
//
// It must never need a node. KUBEBUILDER_ASSETS names the API server and etcd; `make envtest` sets it.
// Without it the tests fail, since a test that did not run must not look as if it had passed.
package objects
