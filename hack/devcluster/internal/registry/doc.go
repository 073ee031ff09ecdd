// Package registry keeps the images of the cluster: a registry on the host's
// end of the bridge, with blobs and manifests in the cache, so that they stay
// over `down` and `up`. Nodes ask it for every image, whatever registry its
// name begins with.
//
// Push works with and without a running cluster: it talks to the registry if
// it answers, and to the same handler inside this process otherwise.
//
// It must never listen anywhere but on the host's end of the bridge, and never
// ask a registry outside the machine.
//
// Start reading at Registry, then push.go.
package registry
