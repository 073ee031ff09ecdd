package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/image"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/node"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/registry"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

// criNamespace is containerd's namespace for what the kubelet uses.
const criNamespace = "k8s.io"

// Load puts an image into the registry under a name such as holdfast/manager:dev
// and returns that name with the digest. Nodes forget what they pulled under
// the name before, so that new pods get the new image.
func (c *Cluster) Load(ctx context.Context, name string, source image.Source) (string, error) {
	repository, tag, err := registry.Split(name)
	if err != nil {
		return "", err
	}
	built, err := source.Image()
	if err != nil {
		return "", err
	}
	unlock, err := state.Lock(c.Dirs.Registry(), c.sayWaiting)
	if err != nil {
		return "", err
	}
	defer unlock()
	pusher, err := registry.NewPusher(c.Dirs.Registry())
	if err != nil {
		return "", err
	}
	digest, err := pusher.Push(ctx, built, repository, tag)
	if err != nil {
		return "", err
	}
	if err := c.forget(ctx, "docker.io/"+repository+":"+tag); err != nil {
		return "", err
	}
	return name + "@" + digest.String(), nil
}

// forget removes the name of an image from every running node. Containers that
// run it are not touched.
func (c *Cluster) forget(ctx context.Context, name string) error {
	nodes, err := c.nodes()
	if err != nil {
		return err
	}
	var problems []error
	for _, i := range nodes {
		id, alive := c.nodeInit(network.NodeName(i))
		if !alive {
			continue
		}
		if frozen, err := c.groups.Frozen(network.NodeNamespace(i)); err != nil || frozen {
			continue
		}
		cmd := exec.CommandContext(ctx, c.binaries["ctr"], "--address", node.Socket(id.PID), "--namespace", criNamespace, "images", "rm", name)
		if output, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(output), "not found") {
			problems = append(problems, fmt.Errorf("forget %s on %s: %w: %s", name, network.NodeName(i), err, strings.TrimSpace(string(output))))
		}
	}
	return errors.Join(problems...)
}
