package network

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Place is an end of a cut: who is meant, where packets can be dropped for it,
// and which addresses others know it by.
type Place struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Node is the index of the node that it is, or that it runs on.
	Node int `json:"node,omitempty"`
	// Addrs are its addresses; the first one is asked to find out whether a cut
	// is in force.
	Addrs []netip.Prefix `json:"addrs,omitempty"`
}

// Kind says what a place is.
type Kind string

// The kinds of places.
const (
	KindNode         Kind = "node"
	KindPod          Kind = "pod"
	KindControlPlane Kind = "control-plane"
	// KindAddress is an address where we drop nothing, such as the host's: rules
	// are set at the other end only.
	KindAddress Kind = "address"
	// KindAll is everybody but, for a pod, its own node's kubelet.
	KindAll Kind = "all"
)

// NodePlace is a node with all its pods.
func NodePlace(i int) Place {
	return Place{
		Name: NodeName(i), Kind: KindNode, Node: i,
		Addrs: []netip.Prefix{single(NodeAddr(i)), NodePods(i)},
	}
}

// PodPlace is a pod with this address.
func PodPlace(name string, addr netip.Addr) (Place, error) {
	i, err := NodeOfPod(addr)
	if err != nil {
		return Place{}, err
	}
	return Place{Name: name, Kind: KindPod, Node: i, Addrs: []netip.Prefix{single(addr)}}, nil
}

// ControlPlanePlace is the API server, and whatever reaches Services through the
// control plane: the host does.
func ControlPlanePlace() Place {
	return Place{Name: "cp", Kind: KindControlPlane, Addrs: []netip.Prefix{single(ControlPlaneAddr)}}
}

// AddressPlace is the host, or anything else that has an address.
func AddressPlace(name string, addr netip.Addr) Place {
	return Place{Name: name, Kind: KindAddress, Addrs: []netip.Prefix{single(addr)}}
}

// AllPlace is everybody.
func AllPlace() Place { return Place{Name: "all", Kind: KindAll} }

func single(addr netip.Addr) netip.Prefix { return netip.PrefixFrom(addr, addr.BitLen()) }

// Finder knows the first process of each running node.
type Finder func(node int) (pid int, running bool)

// errNoNamespace is returned for places that have no network namespace (any
// more), such as a pod that has ended.
var errNoNamespace = errors.New("it has no network namespace")

// namespace is the file of the place's network namespace.
func (p Place) namespace(find Finder) (string, error) {
	switch p.Kind {
	case KindNode:
		return NamespacePath(NodeNamespace(p.Node)), nil
	case KindControlPlane:
		return NamespacePath(ControlPlaneNamespace), nil
	case KindPod:
		return podNamespace(p, find)
	case KindAddress, KindAll:
		return "", errNoNamespace
	default:
		return "", fmt.Errorf("%q is no kind of place", p.Kind)
	}
}

// podNamespace looks through the pods of the node for the one with the address.
func podNamespace(p Place, find Finder) (string, error) {
	pid, running := find(p.Node)
	if !running {
		return "", fmt.Errorf("%s: its node %s does not run: %w", p.Name, NodeName(p.Node), errNoNamespace)
	}
	paths, err := podNamespaces(pid)
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		if has, err := hasAddress(path, p.Addrs[0].Addr()); err == nil && has {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: no pod on %s has the address %s: %w", p.Name, NodeName(p.Node), p.Addrs[0].Addr(), errNoNamespace)
}

// podNamespaces lists the files of the pods' network namespaces of a node. They
// are mounted in the node's own table, which its first process gives access to.
func podNamespaces(pid int) ([]string, error) {
	dir := fmt.Sprintf("/proc/%d/root%s", pid, namespaceDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the pods' network namespaces: %w", err)
	}
	paths := make([]string, 0, len(entries))
	for _, entry := range entries {
		paths = append(paths, filepath.Join(dir, entry.Name()))
	}
	return paths, nil
}

func hasAddress(namespace string, addr netip.Addr) (bool, error) {
	target, err := netns.GetFromPath(namespace)
	if err != nil {
		return false, fmt.Errorf("open %s: %w", namespace, err)
	}
	defer target.Close()
	handle, err := netlink.NewHandleAt(target)
	if err != nil {
		return false, fmt.Errorf("talk to %s: %w", namespace, err)
	}
	defer handle.Close()
	addrs, err := handle.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return false, fmt.Errorf("list addresses of %s: %w", namespace, err)
	}
	wanted := net.IP(addr.AsSlice())
	return slices.ContainsFunc(addrs, func(a netlink.Addr) bool { return a.IP.Equal(wanted) }), nil
}
