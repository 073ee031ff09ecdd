package network

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

func pod(t *testing.T, name, addr string) Place {
	t.Helper()
	place, err := PodPlace(name, netip.MustParseAddr(addr))
	if err != nil {
		t.Fatal(err)
	}
	return place
}

func TestCutsAreMadeAtBothEnds(t *testing.T) {
	t.Parallel()
	a, b := pod(t, "d/a", "198.18.129.5"), pod(t, "d/b", "198.18.130.6")
	host := AddressPlace("host", HostAddr)
	cases := map[string]struct {
		cut  Cut
		want map[string]string // place to rules, in order
	}{
		"both ways: each end loses both directions": {
			Cut{A: a, B: b, Direction: BothWays},
			map[string]string{
				"d/a": "out:198.18.130.6/32 in:198.18.130.6/32",
				"d/b": "in:198.18.129.5/32 out:198.18.129.5/32",
			},
		},
		"one way: the sender does not send and the other does not hear": {
			Cut{A: a, B: b, Direction: OneWay},
			map[string]string{"d/a": "out:198.18.130.6/32", "d/b": "in:198.18.129.5/32"},
		},
		"an address has no rules of its own": {
			Cut{A: a, B: host, Direction: BothWays},
			map[string]string{"d/a": "out:198.18.0.254/32 in:198.18.0.254/32"},
		},
		"what the host sends one way is lost at the pod": {
			Cut{A: host, B: a, Direction: OneWay},
			map[string]string{"d/a": "in:198.18.0.254/32"},
		},
		"a node stands for its pods too": {
			Cut{A: NodePlace(1), B: NodePlace(2), Direction: OneWay},
			map[string]string{
				"n1": "out:198.18.0.12/32, 198.18.130.0/24",
				"n2": "in:198.18.0.11/32, 198.18.129.0/24",
			},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for _, e := range ends([]Cut{c.cut}) {
				var rules []string
				for _, d := range e.drops {
					rules = append(rules, string(d.hook)+":"+join(d.peer.Addrs))
				}
				got[e.place.Name] = strings.Join(rules, " ")
			}
			if len(got) != len(c.want) {
				t.Fatalf("rules at %v, want %v", got, c.want)
			}
			for place, want := range c.want {
				if got[place] != want {
					t.Errorf("%s has %q, want %q", place, got[place], want)
				}
			}
		})
	}
}

func TestCutsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	a := pod(t, "d/a", "198.18.129.5")
	cases := map[string]struct {
		cut     Cut
		refused bool
	}{
		"a pod from itself":               {Cut{A: a, B: a}, true},
		"everybody from a pod":            {Cut{A: AllPlace(), B: a}, true},
		"two addresses that are not ours": {Cut{A: AddressPlace("x", HostAddr), B: AddressPlace("y", DNSService)}, true},
		"an address from everybody":       {Cut{A: AddressPlace("x", HostAddr), B: AllPlace()}, true},
		"a pod from everybody":            {Cut{A: a, B: AllPlace()}, false},
		"a node from the control plane":   {Cut{A: NodePlace(1), B: ControlPlanePlace()}, false},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if err := c.cut.Check(); (err != nil) != c.refused {
				t.Fatalf("Check() = %v, refused should be %t", err, c.refused)
			}
		})
	}
}

func TestAPodCutFromAllIsStillProbed(t *testing.T) {
	t.Parallel()
	a := pod(t, "d/a", "198.18.129.5")
	rules := ends([]Cut{{A: a, B: AllPlace(), Direction: BothWays}})[0].ruleset()
	for _, want := range []string{
		"iifname eth0 ip saddr != 198.18.129.1 counter name cut0_in drop",
		"oifname eth0 ip daddr != 198.18.129.1 counter name cut0_out drop",
	} {
		if !strings.Contains(rules, want) {
			t.Errorf("the rules lack %q:\n%s", want, rules)
		}
	}
}

// The kernel is the judge of the rules: they are loaded in a namespace of the
// test's own, where nothing else is.
func TestTheKernelTakesTheRules(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: making a network namespace needs root")
	}
	a := pod(t, "d/a", "198.18.129.5")
	cuts := []Cut{
		{A: a, B: NodePlace(2), Direction: BothWays},
		{A: a, B: AllPlace(), Direction: OneWay},
		{A: NodePlace(3), B: a, Direction: OneWay},
	}
	path := scratchNamespace(t)
	e := ends(cuts)[0]
	for range 2 { // the second time replaces the first
		if err := change(path, e.ruleset()); err != nil {
			t.Fatalf("%v\n%s", err, e.ruleset())
		}
	}
	err := In(path, func() error { return sendProbe(NodePlace(2)) })
	if err == nil {
		t.Error("a packet into a cut was sent without complaint")
	}
	counters, err := readCounters(path)
	if err != nil {
		t.Fatal(err)
	}
	if counters["cut0_out"] == 0 {
		t.Errorf("nobody counted the packet: %v", counters)
	}
	if err := change(path, clearRuleset); err != nil {
		t.Fatal(err)
	}
	if _, err := readCounters(path); err == nil {
		t.Error("the table is still there after it was cleared")
	}
}

// scratchNamespace is a network namespace with nothing in it but a loopback
// that answers for every address of the plan.
func scratchNamespace(t *testing.T) string {
	t.Helper()
	const name = "devcluster-test"
	_ = netns.DeleteNamed(name)
	if err := ensureNamespace(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.DeleteNamed(name); err != nil {
			t.Error(err)
		}
	})
	handle, err := handleIn(name)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	if err := setUp(handle, "lo"); err != nil {
		t.Fatal(err)
	}
	lo, err := handle.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	route := &netlink.Route{LinkIndex: lo.Attrs().Index, Dst: ipNet(netip.MustParsePrefix("198.18.0.0/15"))}
	if err := handle.RouteReplace(route); err != nil {
		t.Fatal(err)
	}
	return NamespacePath(name)
}
