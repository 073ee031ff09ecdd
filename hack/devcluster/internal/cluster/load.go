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
	if err := c.forget(ctx, repository+":"+tag); err != nil {
		return "", err
	}
	return name + "@" + digest.String(), nil
}

// forget removes an image's name from every running node, whatever registry
// the node thinks it came from. Containers that run it are not touched.
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
		if err := c.forgetOn(ctx, id.PID, name); err != nil {
			problems = append(problems, fmt.Errorf("forget %s on %s: %w", name, network.NodeName(i), err))
		}
	}
	return errors.Join(problems...)
}

func (c *Cluster) forgetOn(ctx context.Context, init int, name string) error {
	known, err := c.ctr(ctx, init, "images", "ls", "--quiet")
	if err != nil {
		return err
	}
	for known := range strings.FieldsSeq(known) {
		if !strings.HasSuffix(known, "/"+name) {
			continue
		}
		if _, err := c.ctr(ctx, init, "images", "rm", known); err != nil {
			return err
		}
	}
	return nil
}

// ctr runs containerd's own client against a node's containerd.
func (c *Cluster) ctr(ctx context.Context, init int, args ...string) (string, error) {
	flags := []string{"--address", node.Socket(init), "--namespace", criNamespace}
	cmd := exec.CommandContext(ctx, c.binaries["ctr"], append(flags, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask containerd: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return string(output), nil
}
