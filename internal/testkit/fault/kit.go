package fault

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/devcluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/process"
)

// ManagerProcess is the name of the operator's process.
const ManagerProcess = "manager"

// Heal takes a fault back.
type Heal func(context.Context) error

// Kit makes faults on one cluster.
type Kit struct {
	Lab *lab.Lab
	// Tool for faults of nodes and of the network; ToolError says why there is none.
	Tool      devcluster.Tool
	ToolError error
}

// NewKit looks for the tool of a repository, at path or where make builds it.
func NewKit(l *lab.Lab, repository, path string) Kit {
	tool, err := devcluster.Find(repository, path)
	return Kit{Lab: l, Tool: tool, ToolError: err}
}

// Impossible says whether an error means that this machine cannot make the fault at all, because the
// nodes are not on it.
func (k Kit) Impossible(err error) bool {
	return k.ToolError != nil && (errors.Is(err, devcluster.ErrMissing) || errors.Is(err, process.ErrNone))
}

// KillServer kills the database server of a pod.
func (k Kit) KillServer(ctx context.Context, pod *corev1.Pod) error {
	p, err := process.Server(string(pod.UID))
	if err != nil {
		return err
	}
	return p.Kill(ctx)
}

// FreezeServer stops the database server of a pod in its tracks.
func (k Kit) FreezeServer(ctx context.Context, pod *corev1.Pod) (Heal, error) {
	p, err := process.Server(string(pod.UID))
	if err != nil {
		return nil, err
	}
	thaw := func(ctx context.Context) error {
		if !p.Alive() {
			return nil // Its agent killed it meanwhile, as it should.
		}
		return p.Thaw(ctx)
	}
	return thaw, p.Freeze(ctx)
}

// Manager is the operator's process in a pod.
func (k Kit) Manager(pod *corev1.Pod) (process.Process, error) {
	found, err := process.Find(string(pod.UID), ManagerProcess)
	if err != nil {
		return process.Process{}, err
	}
	if len(found) != 1 {
		return process.Process{}, fmt.Errorf("%d processes of the operator in %s: %w", len(found), pod.Name, process.ErrNone)
	}
	return found[0], nil
}

// DeletePod deletes a pod and gives it its grace period.
func (k Kit) DeletePod(ctx context.Context, pod *corev1.Pod) error {
	return k.deletePod(ctx, pod)
}

// DeletePodByForce deletes a pod's object at once; its processes may live on for a while.
func (k Kit) DeletePodByForce(ctx context.Context, pod *corev1.Pod) error {
	return k.deletePod(ctx, pod, client.GracePeriodSeconds(0))
}

func (k Kit) deletePod(ctx context.Context, pod *corev1.Pod, options ...client.DeleteOption) error {
	options = append(options, client.Preconditions{UID: &pod.UID})
	if err := k.Lab.Client.Delete(ctx, pod.DeepCopy(), options...); err != nil {
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	}
	return nil
}

// StopNode cuts the power of a pod's node.
func (k Kit) StopNode(ctx context.Context, pod *corev1.Pod) (Heal, error) {
	if k.ToolError != nil {
		return nil, k.ToolError
	}
	node := pod.Spec.NodeName
	start := func(ctx context.Context) error { return k.Tool.StartNode(ctx, node) }
	return start, k.Tool.StopNode(ctx, node)
}

// FreezeNode stops all processes of a pod's node in their tracks.
func (k Kit) FreezeNode(ctx context.Context, pod *corev1.Pod) (Heal, error) {
	if k.ToolError != nil {
		return nil, k.ToolError
	}
	node := pod.Spec.NodeName
	thaw := func(ctx context.Context) error { return k.Tool.ThawNode(ctx, node) }
	return thaw, k.Tool.FreezeNode(ctx, node)
}

// Cut drops all packets between a pod and other pods. Clients on this machine still reach it.
func (k Kit) Cut(ctx context.Context, pod *corev1.Pod, from ...corev1.Pod) (Heal, error) {
	if k.ToolError != nil {
		return nil, k.ToolError
	}
	var addresses []string
	for _, other := range from {
		addresses = append(addresses, other.Status.PodIP)
	}
	return k.Tool.Heal, k.Tool.CutPod(ctx, pod.Status.PodIP, addresses)
}
