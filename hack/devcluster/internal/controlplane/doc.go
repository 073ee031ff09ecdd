// Package controlplane describes the machine that the control plane runs on:
// etcd, the API server, the controller manager, the scheduler, and a kube-proxy
// of its own, through which the API server reaches webhooks and the host
// reaches Services, whatever happens to the nodes.
//
// It must never start or stop anything: that is for the process package.
//
// Start reading at Spec.Machine.
package controlplane
