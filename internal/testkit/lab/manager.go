package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Where the operator runs, as config/default installs it.
const (
	ManagerNamespace  = "holdfast-system"
	ManagerDeployment = "holdfast-controller-manager"
	ManagerReplicas   = 2
)

// ManagerPods are the operator's pods.
func (l *Lab) ManagerPods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := l.Client.List(ctx, list, client.InNamespace(ManagerNamespace), client.MatchingLabels{"control-plane": "controller-manager"})
	if err != nil {
		return nil, fmt.Errorf("list the operator's pods: %w", err)
	}
	return list.Items, nil
}

// Leader is the operator's pod that leads.
func (l *Lab) Leader(ctx context.Context) (*corev1.Pod, error) {
	leases := &coordinationv1.LeaseList{}
	if err := l.Client.List(ctx, leases, client.InNamespace(ManagerNamespace)); err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	for _, lease := range leases.Items {
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			continue
		}
		// controller-runtime writes <host name>_<random>, and a pod's host name is its name.
		holder, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
		pod := &corev1.Pod{}
		err := l.Client.Get(ctx, types.NamespacedName{Namespace: ManagerNamespace, Name: holder}, pod)
		if err == nil && pod.DeletionTimestamp == nil {
			return pod, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read the leader's pod: %w", err)
		}
	}
	return nil, errors.New("no living pod of the operator holds the lease")
}

// MoveLeaderOff makes sure that the leader does not run on a node: a fault of that node is then one
// of the database alone. A node that hosts both is a scenario of its own. It returns once the
// operator's pods are all ready again.
func (l *Lab) MoveLeaderOff(ctx context.Context, node string) error {
	err := Until(ctx, "the leader is off "+node, func(ctx context.Context) error {
		leader, err := l.Leader(ctx)
		if err != nil {
			return err
		}
		if leader.Spec.NodeName != node {
			return nil
		}
		// It releases the lease as it stops, so that the other pod leads at once.
		if err := l.Client.Delete(ctx, leader, client.Preconditions{UID: &leader.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the leader's pod: %w", err)
		}
		return fmt.Errorf("the leader %s was on %s", leader.Name, node)
	})
	if err != nil {
		return err
	}
	return l.WaitManager(ctx, ManagerReplicas)
}

// ScaleManager sets the number of the operator's pods and waits until it is so.
func (l *Lab) ScaleManager(ctx context.Context, replicas int32) error {
	key := types.NamespacedName{Namespace: ManagerNamespace, Name: ManagerDeployment}
	deployment := &appsv1.Deployment{}
	if err := l.Client.Get(ctx, key, deployment); err != nil {
		return fmt.Errorf("read the operator's Deployment: %w", err)
	}
	before := deployment.DeepCopy()
	deployment.Spec.Replicas = &replicas
	if err := l.Client.Patch(ctx, deployment, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("scale the operator to %d: %w", replicas, err)
	}
	return l.WaitManager(ctx, replicas)
}

// WaitManager waits until the operator has so many pods, all of them ready.
func (l *Lab) WaitManager(ctx context.Context, replicas int32) error {
	return Until(ctx, fmt.Sprintf("the operator has %d ready pods", replicas), func(ctx context.Context) error {
		pods, err := l.ManagerPods(ctx)
		if err != nil {
			return err
		}
		ready := 0
		for _, pod := range pods {
			if IsReady(&pod) {
				ready++
			}
		}
		if ready != int(replicas) || len(pods) != ready {
			return fmt.Errorf("%d pods, %d of them ready", len(pods), ready)
		}
		return nil
	})
}

// IsReady says whether a pod is ready.
func IsReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
