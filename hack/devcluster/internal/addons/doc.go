// Package addons holds what is installed in every cluster: CoreDNS and the
// default StorageClass. The manifests are rendered here and applied with
// kubectl, server-side, so that a second `up` changes nothing.
//
// It must never hold anything of the operator.
//
// Start reading at manifests.yaml.
package addons
