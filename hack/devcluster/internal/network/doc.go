// Package network lays the cables: a bridge in a namespace of its own, one
// network namespace per node and one for the control plane, a cable from each
// to the bridge and one to the host, and the routes between them. It also cuts
// them again: Cuts describes which places may not hear each other, and Apply
// puts that in force with nftables.
//
// Everything lies in 198.18.0.0/15, the range reserved for tests, and nothing
// of it leaves the machine: the host never forwards. Names of namespaces and
// links begin with "hf-", so that leftovers can be found without any record.
//
// It must never touch a namespace or link without that prefix, and never change
// forwarding, addresses or rules of the host beyond its own cable and routes.
//
// Start reading at plan.go (who has which address), then lab.go and cut.go.
package network
