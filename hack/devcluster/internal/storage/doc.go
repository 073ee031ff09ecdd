// Package storage is the dynamic provisioner behind the default StorageClass: a
// volume is a directory on the disk of the node that its first pod is placed
// on, writable by every user, and the volume says which node it belongs to, so
// that its pods come back there.
//
// It must never remove a directory that it did not make for a volume of its
// own: names are checked before anything is deleted.
//
// Start reading at Provisioner.
package storage
