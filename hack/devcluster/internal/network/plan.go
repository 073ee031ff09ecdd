package network

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Prefix begins the name of every namespace, link and cgroup of a cluster.
const Prefix = "hf-"

// Names of the namespaces and of the host's end of its cable.
const (
	SwitchNamespace       = Prefix + "net"
	ControlPlaneNamespace = Prefix + "cp"
	HostLink              = Prefix + "host"
)

// MaxNodes is how many nodes the address plan has room for.
const MaxNodes = 60

// The address plan. Nodes and pods have ranges of their own, because kube-proxy
// masquerades what does not come from a pod, and must be able to tell.
var (
	HostAddr         = netip.MustParseAddr("198.18.0.254")
	ControlPlaneAddr = netip.MustParseAddr("198.18.0.1")
	NodeRange        = netip.MustParsePrefix("198.18.0.0/24")
	PodRange         = netip.MustParsePrefix("198.18.128.0/17")
	ServiceRange     = netip.MustParsePrefix("198.19.0.0/16")
	APIServerService = netip.MustParseAddr("198.19.0.1")
	DNSService       = netip.MustParseAddr("198.19.0.10")
)

// RegistryPort is where the registry listens on HostAddr.
const RegistryPort = 5000

// APIServerPort is where the API server listens on ControlPlaneAddr.
const APIServerPort = 6443

const (
	firstNodeByte = 10
	firstPodByte  = 128
)

// NodeName is the name of the i-th node, counted from 1: n1, n2, …
func NodeName(i int) string { return "n" + strconv.Itoa(i) }

// NodeIndex is the inverse of NodeName.
func NodeIndex(name string) (int, error) {
	digits, found := strings.CutPrefix(name, "n")
	i, err := strconv.Atoi(digits)
	if !found || err != nil || i < 1 || i > MaxNodes {
		return 0, fmt.Errorf("%q is not the name of a node (n1, n2, …)", name)
	}
	return i, nil
}

// NodeNamespace is the network namespace (and the cgroup) of the i-th node.
func NodeNamespace(i int) string { return Prefix + NodeName(i) }

// NodeAddr is the address of the i-th node.
func NodeAddr(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 18, 0, byte(firstNodeByte + i)})
}

// NodePods is the range the pods of the i-th node get their addresses from.
func NodePods(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(firstPodByte + i), 0}), 24)
}

// NodeGateway is the address of the i-th node on its pods' bridge; the kubelet's
// probes come from it.
func NodeGateway(i int) netip.Addr { return NodePods(i).Addr().Next() }

// NodeOfPod says on which node a pod with this address runs.
func NodeOfPod(addr netip.Addr) (int, error) {
	if !PodRange.Contains(addr) {
		return 0, fmt.Errorf("%s is not the address of a pod (%s)", addr, PodRange)
	}
	i := int(addr.As4()[2]) - firstPodByte
	if i < 1 || i > MaxNodes {
		return 0, fmt.Errorf("%s is in no node's pod range", addr)
	}
	return i, nil
}

// APIServer is the host and port of the API server.
func APIServer() string {
	return net.JoinHostPort(ControlPlaneAddr.String(), strconv.Itoa(APIServerPort))
}

// APIServerDial is APIServer as something that a unit can need.
func APIServerDial() string { return "tcp://" + APIServer() }
