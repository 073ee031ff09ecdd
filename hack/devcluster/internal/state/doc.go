// Package state knows where things lie: the state directory of one cluster,
// which `down` empties, and the cache of built parts and images, which stays.
// It also holds the lock that keeps two commands from working on one cluster
// at the same time.
//
// It must never read or write anything but paths, locks and the version mark.
//
// Start reading at Dirs.
package state
