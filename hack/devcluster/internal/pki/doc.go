// Package pki makes the certificates and kubeconfigs of a cluster: one
// authority, a certificate per component, and the key that signs service
// account tokens. Keys are ECDSA P-256, because a cluster that starts in
// seconds has no time for larger ones.
//
// What exists is kept: a second call with the same directory changes nothing.
// It must never be used for anything but a throw-away cluster.
//
// Start reading at Authority.
package pki
