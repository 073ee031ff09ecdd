// Package debian fetches packages of a Debian suite without installing them:
// with lists, a cache and an empty record of installed packages of its own, all
// below one directory, so that the machine's own apt is not touched. The mirror
// is the one that the machine itself uses.
//
// It must never install anything and never name a mirror.
//
// Start reading at Suite.
package debian
