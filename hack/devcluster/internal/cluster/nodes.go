package cluster

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
)

// StopNode is a power cut: first the cable, so that nobody hears how the node's
// connections end, then every process. The disk stays.
func (c *Cluster) StopNode(name string) error {
	i, err := c.existing(name)
	if err != nil {
		return err
	}
	if err := network.SetCable(i, network.CableOut); err != nil {
		return err
	}
	group := network.NodeNamespace(i)
	if err := c.groups.Kill(group, killPatience); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if running(c.Dirs.Node(name)) {
		return fmt.Errorf("node %s still runs although all its processes were killed", name)
	}
	return nil
}

// StartNode gives power back. It returns when the node's first process runs;
// the kubelet then takes its own time.
func (c *Cluster) StartNode(name string) error {
	i, err := c.existing(name)
	if err != nil {
		return err
	}
	if running(c.Dirs.Node(name)) {
		return nil
	}
	return c.bootNode(i)
}

// FreezeNode stops every process of the node in its tracks, containerd, kubelet
// and pods alike. Its kernel still answers, as that of a hung machine may.
func (c *Cluster) FreezeNode(name string) error {
	i, err := c.existing(name)
	if err != nil {
		return err
	}
	if !running(c.Dirs.Node(name)) {
		return fmt.Errorf("node %s does not run, so it cannot be frozen", name)
	}
	return c.groups.Freeze(network.NodeNamespace(i))
}

// ThawNode is the inverse of FreezeNode.
func (c *Cluster) ThawNode(name string) error {
	i, err := c.existing(name)
	if err != nil {
		return err
	}
	if !running(c.Dirs.Node(name)) {
		return fmt.Errorf("node %s does not run, so it cannot be thawed", name)
	}
	return c.groups.Thaw(network.NodeNamespace(i))
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
