package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

var errNotUp = errors.New("no cluster is up: call devcluster up")

// Cut makes a lose touch with each of the others, and tells the moment when it
// had.
func (c *Cluster) Cut(ctx context.Context, direction network.Direction, a string, others []string) (time.Time, error) {
	from, err := c.places(ctx, a)
	if err != nil {
		return time.Time{}, err
	}
	var to []network.Place
	for _, other := range others {
		places, err := c.places(ctx, other)
		if err != nil {
			return time.Time{}, err
		}
		to = append(to, places...)
	}
	return c.changeCuts(func(cuts []network.Cut) ([]network.Cut, error) {
		for _, a := range from {
			for _, b := range to {
				cut := network.Cut{A: a, B: b, Direction: direction}
				if err := cut.Check(); err != nil {
					return nil, err
				}
				cuts = append(cuts, cut)
			}
		}
		return cuts, nil
	})
}

// Heal takes back the cuts between a and the others, whichever way they were
// asked for.
func (c *Cluster) Heal(a string, others []string) (time.Time, error) {
	return c.changeCuts(func(cuts []network.Cut) ([]network.Cut, error) {
		before := len(cuts)
		cuts = slices.DeleteFunc(cuts, func(cut network.Cut) bool {
			return slices.ContainsFunc(others, func(other string) bool { return cut.Same(a, other) })
		})
		if len(cuts) == before {
			return nil, fmt.Errorf("%s is not cut from %s: devcluster net list shows the cuts", a, strings.Join(others, ", "))
		}
		return cuts, nil
	})
}

// HealAll takes back every cut, also those that no record knows of.
func (c *Cluster) HealAll() (time.Time, error) {
	if network.Owner() == "" {
		return time.Time{}, errNotUp
	}
	unlock, err := state.Lock(c.Dirs.Nodes(), c.sayWaiting)
	if err != nil {
		return time.Time{}, err
	}
	defer unlock()
	if err := network.HealAll(c.find); err != nil {
		return time.Time{}, err
	}
	moment := time.Now()
	if err := os.Remove(c.Dirs.Cuts()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return moment, fmt.Errorf("forget the cuts: %w", err)
	}
	return moment, nil
}

// Cuts lists the cuts in force.
func (c *Cluster) Cuts() ([]network.Cut, error) {
	content, err := os.ReadFile(c.Dirs.Cuts())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the cuts: %w", err)
	}
	var cuts []network.Cut
	if err := json.Unmarshal(content, &cuts); err != nil {
		return nil, fmt.Errorf("decode the cuts: %w", err)
	}
	return cuts, nil
}

// changeCuts records the changed list first and puts it in force then: what a
// crash leaves behind can be healed.
func (c *Cluster) changeCuts(change func([]network.Cut) ([]network.Cut, error)) (time.Time, error) {
	if network.Owner() == "" {
		return time.Time{}, errNotUp
	}
	unlock, err := state.Lock(c.Dirs.Nodes(), c.sayWaiting)
	if err != nil {
		return time.Time{}, err
	}
	defer unlock()
	before, err := c.Cuts()
	if err != nil {
		return time.Time{}, err
	}
	touched := endsOf(before)
	// Cuts of pods that have ended are void, and would fail to be renewed.
	after, err := change(c.living(before))
	if err != nil {
		return time.Time{}, err
	}
	content, err := json.MarshalIndent(after, "", "  ")
	if err != nil {
		return time.Time{}, fmt.Errorf("encode the cuts: %w", err)
	}
	if err := os.WriteFile(c.Dirs.Cuts(), content, 0o644); err != nil {
		return time.Time{}, fmt.Errorf("record the cuts: %w", err)
	}
	return network.PutInForce(after, touched, c.find)
}

func (c *Cluster) living(cuts []network.Cut) []network.Cut {
	return slices.DeleteFunc(slices.Clone(cuts), func(cut network.Cut) bool {
		return !network.Alive(cut.A, c.find) || !network.Alive(cut.B, c.find)
	})
}

func endsOf(cuts []network.Cut) []network.Place {
	var places []network.Place
	for _, cut := range cuts {
		places = append(places, cut.A, cut.B)
	}
	return places
}

func (c *Cluster) find(i int) (int, bool) {
	id, running := c.nodeInit(network.NodeName(i))
	return id.PID, running
}

// places understands what people write: n1, cp, host, all, an address,
// namespace/pod, or namespace/label=value for all pods with that label.
func (c *Cluster) places(ctx context.Context, name string) ([]network.Place, error) {
	switch name {
	case "all":
		return []network.Place{network.AllPlace()}, nil
	case "cp":
		return []network.Place{network.ControlPlanePlace()}, nil
	case "host":
		return []network.Place{network.AddressPlace(name, network.HostAddr)}, nil
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		place, err := addressPlace(name, addr)
		return []network.Place{place}, err
	}
	if namespace, pod, found := strings.Cut(name, "/"); found {
		return c.podPlaces(ctx, namespace, pod)
	}
	i, err := c.existing(name)
	if err != nil {
		return nil, err
	}
	return []network.Place{network.NodePlace(i)}, nil
}

func addressPlace(name string, addr netip.Addr) (network.Place, error) {
	if network.PodRange.Contains(addr) {
		return network.PodPlace(name, addr)
	}
	return network.AddressPlace(name, addr), nil
}

func (c *Cluster) podPlaces(ctx context.Context, namespace, pod string) ([]network.Place, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	options := meta.ListOptions{FieldSelector: "metadata.name=" + pod}
	if strings.Contains(pod, "=") {
		options = meta.ListOptions{LabelSelector: pod}
	}
	list, err := client.CoreV1().Pods(namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("find pod %s/%s: %w", namespace, pod, err)
	}
	var places []network.Place
	for _, item := range list.Items {
		addr, err := netip.ParseAddr(item.Status.PodIP)
		if err != nil || item.Spec.HostNetwork {
			continue
		}
		place, err := network.PodPlace(namespace+"/"+item.Name, addr)
		if err != nil {
			return nil, err
		}
		places = append(places, place)
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no pod %s/%s has an address", namespace, pod)
	}
	return places, nil
}
