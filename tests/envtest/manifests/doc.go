// Package manifests applies what `make deploy` applies to a real API server, so that a manifest that
// Kubernetes refuses is found before anyone deploys it.
//
// It must never need a node: it asks what the API server says, not what runs.
// KUBEBUILDER_ASSETS names the API server and etcd; `make envtest` sets it.
package manifests
