// Package node describes a node of the cluster: which mounts its machine has,
// how containerd, the kubelet and kube-proxy are configured, and in which order
// they start. Inside a node everything lies where it lies on a real one
// (/var/lib/containerd, /var/lib/kubelet, /run/containerd), because the node
// has its own /run, /var/lib and /var/log.
//
// It must never start, stop or cut anything: that is for the process, cgroup
// and network packages, driven by the cluster package.
//
// Start reading at Spec.Machine.
package node
