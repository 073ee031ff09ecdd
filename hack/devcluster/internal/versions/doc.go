// Package versions pins everything the cluster is made of. It holds constants
// and nothing else: to move the cluster to another release, edit this one file
// and run `devcluster up` again; the cache keeps old and new side by side.
//
// It must never hold a version that is found out at run time. The database
// images come from a moving Debian suite, so only the suite is pinned here and
// the image package records what it found.
package versions
