// Devcluster runs a real Kubernetes cluster on one Linux machine, without a
// container engine and without virtual machines: every node is a set of
// namespaces with its own containerd, kubelet and kube-proxy. Nodes can lose
// power, freeze, and be cut off from each other.
//
// Start reading at internal/cluster; README.md says how to use it.
package main
