// Package resources assembles the Kubernetes objects of a RedisCluster from the builders of
// internal/desired.
//
// The package is pure: the spec and a few plain values in, objects out. It must never put a
// secret into an object, since none of these is a Secret, and never let a field of the spec
// reach the pod that is not named in the API: the pod is no template of the user's.
//
// Start with Input and StatefulSet; parts.go says what of it needs a restart.
package resources
