// Package naming holds every name that Holdfast gives: objects, labels, annotations, the
// finalizer, ports, paths inside the pod, and users of the databases.
//
// A name is part of what an installed cluster is made of. It must never change from one version to
// the next, since the objects of running clusters would be orphaned: naming_test.go freezes each
// of them. A literal label key, port or path anywhere else is a mistake.
//
// Start with objects.go for the objects of a cluster and labels.go for what is written on them.
package naming
