package network

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

const (
	bridgeName = "br0"
	uplinkName = "eth0"
)

func ensureBridge() error {
	if err := ensureNamespace(SwitchNamespace); err != nil {
		return err
	}
	handle, err := handleIn(SwitchNamespace)
	if err != nil {
		return err
	}
	defer handle.Close()
	if _, err := handle.LinkByName(bridgeName); err == nil {
		return nil
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.NewLinkAttrs()}
	bridge.Name = bridgeName
	if err := handle.LinkAdd(bridge); err != nil {
		return fmt.Errorf("make the bridge: %w", err)
	}
	return setUp(handle, bridgeName)
}

func plugHost(owner string) error {
	if _, err := netlink.LinkByName(HostLink); err == nil {
		return nil
	}
	if err := addCable(HostLink, HostLink); err != nil {
		return err
	}
	link, err := netlink.LinkByName(HostLink)
	if err != nil {
		return fmt.Errorf("find the host's cable: %w", err)
	}
	if err := netlink.LinkSetAlias(link, owner); err != nil {
		return fmt.Errorf("write the owner on the host's cable: %w", err)
	}
	if err := netlink.AddrReplace(link, address(HostAddr)); err != nil {
		return fmt.Errorf("give %s to the host: %w", HostAddr, err)
	}
	return netlink.LinkSetUp(link)
}

// plug makes a namespace with a cable to the bridge, an address and forwarding.
func plug(name string, addr netip.Addr) error {
	if err := ensureNamespace(name); err != nil {
		return err
	}
	handle, err := handleIn(name)
	if err != nil {
		return err
	}
	defer handle.Close()
	if _, err := handle.LinkByName(uplinkName); err == nil {
		return nil
	}
	temporary := Prefix + "new"
	if err := addCable(temporary, name); err != nil {
		return err
	}
	if err := moveLink(temporary, name); err != nil {
		return err
	}
	link, err := handle.LinkByName(temporary)
	if err != nil {
		return fmt.Errorf("find the cable in %s: %w", name, err)
	}
	if err := handle.LinkSetName(link, uplinkName); err != nil {
		return fmt.Errorf("name the cable in %s: %w", name, err)
	}
	if err := handle.AddrReplace(link, address(addr)); err != nil {
		return fmt.Errorf("give %s to %s: %w", addr, name, err)
	}
	for _, device := range []string{"lo", uplinkName} {
		if err := setUp(handle, device); err != nil {
			return err
		}
	}
	gateway := &netlink.Route{Gw: net.IP(HostAddr.AsSlice()), LinkIndex: link.Attrs().Index}
	if err := handle.RouteReplace(gateway); err != nil {
		return fmt.Errorf("set the default route in %s: %w", name, err)
	}
	return forward(name)
}

// addCable makes a pair of links, one on the host, the other a port of the bridge.
func addCable(near, far string) error {
	target, err := netns.GetFromName(SwitchNamespace)
	if err != nil {
		return fmt.Errorf("open network namespace %s: %w", SwitchNamespace, err)
	}
	defer target.Close()
	// What a crash left of an earlier try would be in the way.
	if stale, err := netlink.LinkByName(near); err == nil {
		_ = netlink.LinkDel(stale)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = near
	cable := &netlink.Veth{LinkAttrs: attrs, PeerName: portName(far), PeerNamespace: netlink.NsFd(int(target))}
	if err := netlink.LinkAdd(cable); err != nil {
		return fmt.Errorf("make the cable %s: %w", near, err)
	}
	handle, err := handleIn(SwitchNamespace)
	if err != nil {
		return err
	}
	defer handle.Close()
	port, err := handle.LinkByName(portName(far))
	if err != nil {
		return fmt.Errorf("find port %s: %w", portName(far), err)
	}
	bridge, err := handle.LinkByName(bridgeName)
	if err != nil {
		return fmt.Errorf("find the bridge: %w", err)
	}
	if err := handle.LinkSetMaster(port, bridge); err != nil {
		return fmt.Errorf("plug %s into the bridge: %w", near, err)
	}
	return setUp(handle, portName(far))
}

func moveLink(link, namespace string) error {
	target, err := netns.GetFromName(namespace)
	if err != nil {
		return fmt.Errorf("open network namespace %s: %w", namespace, err)
	}
	defer target.Close()
	moved, err := netlink.LinkByName(link)
	if err != nil {
		return fmt.Errorf("find link %s: %w", link, err)
	}
	if err := netlink.LinkSetNsFd(moved, int(target)); err != nil {
		return fmt.Errorf("move link %s into %s: %w", link, namespace, err)
	}
	return nil
}

func forward(name string) error {
	return In(NamespacePath(name), func() error {
		return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
	})
}

func routeHost(to netip.Prefix, via netip.Addr) error {
	if err := netlink.RouteReplace(route(to, via)); err != nil {
		return fmt.Errorf("route %s via %s: %w", to, via, err)
	}
	return nil
}

func routeIn(namespace string, to netip.Prefix, via netip.Addr) error {
	handle, err := handleIn(namespace)
	if err != nil {
		return err
	}
	defer handle.Close()
	if err := handle.RouteReplace(route(to, via)); err != nil {
		return fmt.Errorf("route %s via %s in %s: %w", to, via, namespace, err)
	}
	return nil
}

func handleIn(namespace string) (*netlink.Handle, error) {
	target, err := netns.GetFromName(namespace)
	if err != nil {
		return nil, fmt.Errorf("open network namespace %s: %w", namespace, err)
	}
	defer target.Close()
	handle, err := netlink.NewHandleAt(target)
	if err != nil {
		return nil, fmt.Errorf("talk to network namespace %s: %w", namespace, err)
	}
	return handle, nil
}

func setUp(handle *netlink.Handle, device string) error {
	link, err := handle.LinkByName(device)
	if err != nil {
		return fmt.Errorf("find link %s: %w", device, err)
	}
	if err := handle.LinkSetUp(link); err != nil {
		return fmt.Errorf("set link %s up: %w", device, err)
	}
	return nil
}

func portName(namespace string) string { return "p-" + strings.TrimPrefix(namespace, Prefix) }

func address(addr netip.Addr) *netlink.Addr {
	return &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(addr, NodeRange.Bits()))}
}

func route(to netip.Prefix, via netip.Addr) *netlink.Route {
	return &netlink.Route{Dst: ipNet(to), Gw: net.IP(via.AsSlice())}
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: net.IP(prefix.Addr().AsSlice()), Mask: net.CIDRMask(prefix.Bits(), 32)}
}
