// Package desired builds the Kubernetes objects that every database cluster is made of, without
// knowing which database: a StatefulSet whose pods the operator restarts itself, a headless
// Service, Services without selector and their EndpointSlices, a PodDisruptionBudget and a
// NetworkPolicy.
//
// The package is pure: the same input gives the same object, byte for byte, and nothing is read
// but the arguments. It must never build a pod that the restricted Pod Security Standard
// refuses, or one that could write to its root file system.
//
// Every field that the API server would default inside a list that server-side apply treats as
// one value is set here, so that what we apply equals what comes back (see internal/apply).
//
// Start with Identity, then StatefulSet.
package desired
