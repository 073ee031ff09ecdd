package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
)

// Everything here tells the moment when it came into force, for those who
// measure what follows from it.

// StopNode is a power cut: first the cable, so that nobody hears how the node's
// connections end, then every process. The disk stays. The moment is the one
// when the cable was out.
func (c *Cluster) StopNode(name string) (time.Time, error) {
	i, err := c.existing(name)
	if err != nil {
		return time.Time{}, err
	}
	if err := network.SetCable(i, network.CableOut); err != nil {
		return time.Time{}, err
	}
	moment := time.Now()
	group := network.NodeNamespace(i)
	if err := c.groups.Kill(group, killPatience); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return moment, err
	}
	if running(c.Dirs.Node(name)) {
		return moment, fmt.Errorf("node %s still runs although all its processes were killed", name)
	}
	return moment, nil
}

// StartNode gives power back. It returns when the node's first process runs;
// the kubelet then takes its own time.
func (c *Cluster) StartNode(name string) (time.Time, error) {
	i, err := c.existing(name)
	if err != nil {
		return time.Time{}, err
	}
	if running(c.Dirs.Node(name)) {
		return time.Now(), nil
	}
	err = c.bootNode(i)
	return time.Now(), err
}

// FreezeNode stops every process of the node in its tracks, containerd, kubelet
// and pods alike. Its kernel still answers, as that of a hung machine may.
func (c *Cluster) FreezeNode(name string) (time.Time, error) {
	i, err := c.existing(name)
	if err != nil {
		return time.Time{}, err
	}
	if !running(c.Dirs.Node(name)) {
		return time.Time{}, fmt.Errorf("node %s does not run, so it cannot be frozen", name)
	}
	err = c.groups.Freeze(network.NodeNamespace(i))
	return time.Now(), err
}

// ThawNode is the inverse of FreezeNode.
func (c *Cluster) ThawNode(name string) (time.Time, error) {
	i, err := c.existing(name)
	if err != nil {
		return time.Time{}, err
	}
	if !running(c.Dirs.Node(name)) {
		return time.Time{}, fmt.Errorf("node %s does not run, so it cannot be thawed", name)
	}
	err = c.groups.Thaw(network.NodeNamespace(i))
	return time.Now(), err
}

// existing is the index of a node that has a disk.
func (c *Cluster) existing(name string) (int, error) {
	i, err := network.NodeIndex(name)
	if err != nil {
		return 0, err
	}
	nodes, err := c.nodes()
	if err != nil {
		return 0, err
	}
	for _, node := range nodes {
		if node == i {
			return i, nil
		}
	}
	return 0, fmt.Errorf("there is no node %s: devcluster status lists them", name)
}
