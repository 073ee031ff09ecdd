// Package tunnel reaches the database of a pod through the API server, where this machine has no
// route to the cluster's addresses.
//
// A tunnel is slower than the network, and must never be used where there is a route: its delays would
// be in every figure. For tests and the demo only.
//
// Start with Tunnels.
package tunnel
