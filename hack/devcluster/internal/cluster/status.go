package cluster

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
)

const statusPatience = 3 * time.Second

// State is what a machine of the cluster is doing.
type State string

// The states of a machine.
const (
	StateRunning State = "running"
	StateFrozen  State = "frozen"
	StateStopped State = "stopped"
)

// MachineStatus is one line of the status.
type MachineStatus struct {
	Name  string
	Addr  string
	State State
	// Ready is what the API server says of a node.
	Ready bool
	// Processes is how many the control group has.
	Processes int
}

// Status tells how the cluster is. It is empty if there is none.
func (c *Cluster) Status(ctx context.Context) ([]MachineStatus, error) {
	if network.Owner() == "" {
		return nil, nil
	}
	nodes, err := c.nodes()
	if err != nil {
		return nil, err
	}
	ready := c.readyNow(ctx)
	status := []MachineStatus{
		c.machineStatus(hostGroup, network.HostAddr.String(), c.Dirs.Host()),
		c.machineStatus(network.ControlPlaneNamespace, network.ControlPlaneAddr.String(), c.Dirs.ControlPlane()),
	}
	for _, i := range nodes {
		line := c.machineStatus(network.NodeNamespace(i), network.NodeAddr(i).String(), c.Dirs.Node(network.NodeName(i)))
		line.Name = network.NodeName(i)
		line.Ready = ready[line.Name]
		status = append(status, line)
	}
	return status, nil
}

func (c *Cluster) machineStatus(group, addr, dir string) MachineStatus {
	status := MachineStatus{Name: group, Addr: addr, State: StateStopped}
	if !running(dir) {
		return status
	}
	status.State = StateRunning
	if frozen, err := c.groups.Frozen(group); err == nil && frozen {
		status.State = StateFrozen
	}
	if pids, err := c.groups.Procs(group); err == nil {
		status.Processes = len(pids)
	}
	return status
}

// readyNow asks the API server; without an answer no node counts as ready.
func (c *Cluster) readyNow(ctx context.Context) map[string]bool {
	ready := map[string]bool{}
	client, err := c.client()
	if err != nil {
		return ready
	}
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	names, err := readyNodes(ctx, client)
	if err != nil {
		return ready
	}
	for _, name := range names {
		ready[name] = true
	}
	return ready
}
