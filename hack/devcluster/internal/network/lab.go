package network

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// EnsureSwitch makes the bridge, the host's cable to it and the control plane's
// namespace. owner is written on the host's cable, so that a second cluster of
// another directory finds out that the addresses are taken.
func EnsureSwitch(owner string) error {
	if err := ensureBridge(); err != nil {
		return err
	}
	if err := plugHost(owner); err != nil {
		return err
	}
	if err := plug(ControlPlaneNamespace, ControlPlaneAddr); err != nil {
		return err
	}
	// Services are reached through the control plane's own kube-proxy, by the
	// host and by the API server, whatever happens to the nodes.
	return routeHost(ServiceRange, ControlPlaneAddr)
}

// EnsureNodes plugs the nodes in and tells everyone where their pods are.
func EnsureNodes(nodes []int) error {
	for _, i := range nodes {
		if err := plug(NodeNamespace(i), NodeAddr(i)); err != nil {
			return err
		}
	}
	for _, i := range nodes {
		if err := routeHost(NodePods(i), NodeAddr(i)); err != nil {
			return err
		}
		if err := routeIn(ControlPlaneNamespace, NodePods(i), NodeAddr(i)); err != nil {
			return err
		}
		for _, other := range nodes {
			if other == i {
				continue
			}
			if err := routeIn(NodeNamespace(i), NodePods(other), NodeAddr(other)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Owner says which state directory the running cluster's network belongs to;
// it is empty if there is none.
func Owner() string {
	link, err := netlink.LinkByName(HostLink)
	if err != nil {
		return ""
	}
	return link.Attrs().Alias
}

// SetCable plugs the i-th node's cable in or pulls it. A pulled cable is
// silence: nobody hears how the node's connections end.
func SetCable(i int, state CableState) error {
	handle, err := handleIn(SwitchNamespace)
	if err != nil {
		return err
	}
	defer handle.Close()
	link, err := handle.LinkByName(portName(NodeNamespace(i)))
	if err != nil {
		return fmt.Errorf("find the cable of %s: %w", NodeName(i), err)
	}
	if state == CableIn {
		err = handle.LinkSetUp(link)
	} else {
		err = handle.LinkSetDown(link)
	}
	if err != nil {
		return fmt.Errorf("set the cable of %s: %w", NodeName(i), err)
	}
	return nil
}

// CableState is whether a node's cable is plugged in.
type CableState string

// The states of a cable.
const (
	CableIn  CableState = "in"
	CableOut CableState = "out"
)

// Remove takes away every namespace and link of a cluster.
func Remove() error {
	names, err := Namespaces()
	if err != nil {
		return err
	}
	var problems []error
	if link, err := netlink.LinkByName(HostLink); err == nil {
		problems = append(problems, netlink.LinkDel(link))
	}
	for _, name := range names {
		if err := netns.DeleteNamed(name); err != nil {
			problems = append(problems, fmt.Errorf("remove network namespace %s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

// Leftovers names the links on the host that belong to a cluster.
func Leftovers() ([]string, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	var names []string
	for _, link := range links {
		if strings.HasPrefix(link.Attrs().Name, Prefix) {
			names = append(names, link.Attrs().Name)
		}
	}
	return names, nil
}
