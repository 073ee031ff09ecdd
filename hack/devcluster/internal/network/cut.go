package network

import (
	"fmt"
	"net/netip"
	"strings"
)

// Cut says that two places do not hear each other, or that the second does not
// hear the first.
type Cut struct {
	A         Place     `json:"a"`
	B         Place     `json:"b"`
	Direction Direction `json:"direction"`
}

// Direction says which packets of a cut are lost.
type Direction string

// The directions of a cut.
const (
	BothWays Direction = "both"
	// OneWay loses what A sends to B; what B sends to A arrives.
	OneWay Direction = "one-way"
)

// Check refuses cuts that could not be put in force.
func (c Cut) Check() error {
	if c.A.Name == c.B.Name {
		return fmt.Errorf("%s cannot be cut from itself", c.A.Name)
	}
	if c.A.Kind == KindAddress && c.B.Kind == KindAddress {
		return fmt.Errorf("neither %s nor %s is a node or a pod, so nothing can be dropped there", c.A.Name, c.B.Name)
	}
	if c.A.Kind == KindAll || (c.B.Kind == KindAll && c.A.Kind == KindAddress) {
		return fmt.Errorf("%s all: only a node or a pod can be cut from everybody", c.A.Name)
	}
	return nil
}

// Same says whether two cuts are between the same places, in whichever order.
func (c Cut) Same(a, b string) bool {
	return (c.A.Name == a && c.B.Name == b) || (c.A.Name == b && c.B.Name == a)
}

// drop is one rule: what a place loses because of a cut.
type drop struct {
	cut  int
	hook hook
	peer Place
}

type hook string

const (
	incoming hook = "in"
	outgoing hook = "out"
)

func (d drop) counter() string { return fmt.Sprintf("cut%d_%s", d.cut, d.hook) }

// end is a place with the rules that have to be in force there.
type end struct {
	place Place
	drops []drop
}

// ends translates cuts into rules per place. A cut is made at both ends if both
// are ours, so that neither sends nor hears.
func ends(cuts []Cut) []end {
	var order []string
	byName := map[string]*end{}
	add := func(place Place, d drop) {
		if place.Kind == KindAddress || place.Kind == KindAll {
			return
		}
		found, known := byName[place.Name]
		if !known {
			found = &end{place: place}
			byName[place.Name] = found
			order = append(order, place.Name)
		}
		found.drops = append(found.drops, d)
	}
	for i, cut := range cuts {
		add(cut.A, drop{cut: i, hook: outgoing, peer: cut.B})
		add(cut.B, drop{cut: i, hook: incoming, peer: cut.A})
		if cut.Direction == OneWay {
			continue
		}
		add(cut.A, drop{cut: i, hook: incoming, peer: cut.B})
		add(cut.B, drop{cut: i, hook: outgoing, peer: cut.A})
	}
	result := make([]end, 0, len(order))
	for _, name := range order {
		result = append(result, *byName[name])
	}
	return result
}

// tableName is the only table of nftables that is ours.
const tableName = "hf_cut"

// The hooks lie before connection tracking on the way in and after address
// translation on the way out: packets of established connections are lost too,
// and addresses are those of the real ends.
const (
	inPriority  = -450
	outPriority = 450
)

// ruleset is the table of one end, in nftables' language. It replaces whatever
// was there in one step.
func (e end) ruleset() string {
	var rules strings.Builder
	fmt.Fprintf(&rules, "table ip %[1]s {}\ndelete table ip %[1]s\ntable ip %[1]s {\n", tableName)
	for _, d := range e.drops {
		fmt.Fprintf(&rules, "  counter %s {}\n", d.counter())
	}
	for _, chain := range []struct {
		hook     hook
		name     string
		priority int
	}{{incoming, "prerouting", inPriority}, {outgoing, "postrouting", outPriority}} {
		fmt.Fprintf(&rules, "  chain %s {\n    type filter hook %s priority %d; policy accept;\n", chain.hook, chain.name, chain.priority)
		for _, d := range e.drops {
			if d.hook == chain.hook {
				fmt.Fprintf(&rules, "    %s counter name %s drop\n", e.match(d), d.counter())
			}
		}
		rules.WriteString("  }\n")
	}
	rules.WriteString("}\n")
	return rules.String()
}

// match is the part of a rule that says which packets are meant.
func (e end) match(d drop) string {
	device, addr := "iifname", "saddr"
	if d.hook == outgoing {
		device, addr = "oifname", "daddr"
	}
	switch {
	case d.peer.Kind != KindAll:
		return fmt.Sprintf("ip %s { %s }", addr, join(d.peer.Addrs))
	case e.place.Kind == KindPod:
		// The kubelet still probes the pod, or it would be restarted, which is
		// another fault than the one that was asked for.
		return fmt.Sprintf("%s %s ip %s != %s", device, uplinkName, addr, NodeGateway(e.place.Node))
	default:
		return fmt.Sprintf("%s %s", device, uplinkName)
	}
}

func join(prefixes []netip.Prefix) string {
	texts := make([]string, 0, len(prefixes))
	for _, prefix := range prefixes {
		texts = append(texts, prefix.String())
	}
	return strings.Join(texts, ", ")
}
