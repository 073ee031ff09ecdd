package main

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Addresses of the simulation. An EndpointSlice takes none of 127.0.0.0/8, so that the agents live in
// the range that is reserved for benchmarks; Services have the upper half of it. ownAddress is the API
// server's, and its network that of the agents.
const (
	ownAddress   = "198.18.0.1"
	ownMask      = "255.255.0.0"
	serviceRange = "198.19.0.0/16"
)

// addressOf the agent with that number.
func addressOf(n int) string {
	return netip.AddrFrom4([4]byte{198, 18, byte(1 + n/250), byte(1 + n%250)}).String()
}

// raiseLoopback makes all addresses of the agents local to this network namespace. A namespace that
// has anything but a loopback interface is not ours, and is left alone.
func raiseLoopback() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list network interfaces: %w", err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return fmt.Errorf("interface %s is up: this is no network namespace of its own", i.Name)
		}
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("name the loopback interface: %w", err)
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, lo); err != nil {
		return fmt.Errorf("read flags of the loopback interface: %w", err)
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	// Every address in the network of an address of this interface is local.
	for _, step := range []struct {
		call  uint
		value string
	}{{unix.SIOCSIFADDR, ownAddress}, {unix.SIOCSIFNETMASK, ownMask}} {
		if err := setAddress(socket, step.call, step.value); err != nil {
			return err
		}
	}
	return nil
}

func setAddress(socket int, call uint, value string) error {
	alias, err := unix.NewIfreq("lo:0")
	if err != nil {
		return fmt.Errorf("name the alias: %w", err)
	}
	address := netip.MustParseAddr(value).As4()
	if err := alias.SetInet4Addr(address[:]); err != nil {
		return fmt.Errorf("encode %s: %w", value, err)
	}
	if err := unix.IoctlIfreq(socket, call, alias); err != nil {
		return fmt.Errorf("set %s on the loopback interface: %w", value, err)
	}
	return nil
}
