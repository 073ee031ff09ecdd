package network

import (
	"net/netip"
	"testing"
)

func TestNodeIndex(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		name string
		want int
	}{
		"the first node":                  {"n1", 1},
		"a node with two digits":          {"n12", 12},
		"the last node there is room for": {"n60", 60},
		"one more than there is room for": {"n61", 0},
		"nodes are counted from one":      {"n0", 0},
		"a number is no name":             {"3", 0},
		"a path is no name":               {"../n1", 0},
		"nothing is no name":              {"", 0},
		"a name with something after it":  {"n1x", 0},
		"the control plane is no node":    {"cp", 0},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got, err := NodeIndex(c.name)
			if got != c.want || (err == nil) != (c.want != 0) {
				t.Fatalf("NodeIndex(%q) = %d, %v; want %d", c.name, got, err, c.want)
			}
		})
	}
}

func TestEveryPodRangeBelongsToOneNode(t *testing.T) {
	t.Parallel()
	seen := map[netip.Addr]int{}
	for i := 1; i <= MaxNodes; i++ {
		if !NodeRange.Contains(NodeAddr(i)) || NodeAddr(i) == HostAddr || NodeAddr(i) == ControlPlaneAddr {
			t.Errorf("node %d has the address %s", i, NodeAddr(i))
		}
		if other, taken := seen[NodeAddr(i)]; taken {
			t.Errorf("nodes %d and %d share %s", i, other, NodeAddr(i))
		}
		seen[NodeAddr(i)] = i
		if !PodRange.Overlaps(NodePods(i)) || NodePods(i).Overlaps(NodeRange) || NodePods(i).Overlaps(ServiceRange) {
			t.Errorf("node %d has the pod range %s", i, NodePods(i))
		}
		if got, err := NodeOfPod(NodeGateway(i)); err != nil || got != i {
			t.Errorf("NodeOfPod(%s) = %d, %v; want %d", NodeGateway(i), got, err, i)
		}
	}
}

func TestNodeOfPodRefusesWhatIsNoPod(t *testing.T) {
	t.Parallel()
	cases := map[string]netip.Addr{
		"the host":                           HostAddr,
		"a service":                          DNSService,
		"an address outside the plan":        netip.MustParseAddr("10.0.0.1"),
		"an address before the first node's": netip.MustParseAddr("198.18.128.9"),
	}
	for sentence, addr := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if i, err := NodeOfPod(addr); err == nil {
				t.Fatalf("NodeOfPod(%s) = %d, want an error", addr, i)
			}
		})
	}
}
