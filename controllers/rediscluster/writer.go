package rediscluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/redis/execute"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

// writer is execute.API for one pass.
type writer struct {
	r *Reconciler
	p *pass
}

// StoreIntent writes the intent, and nothing else of the status, if the cluster is still the one
// that was read.
func (w *writer) StoreIntent(ctx context.Context, c *v1.RedisCluster, i topology.Intent) error {
	next := c.DeepCopy()
	s := &next.Status
	s.Epoch, s.Primary, s.PrimaryUID = i.Epoch, i.Primary, i.PrimaryUID
	s.ReplicationID, s.SyncSet = i.ReplID, i.SyncSet
	s.Transition = w.transition(c.Status.Transition, i.Transition)
	// From here on nobody of an earlier epoch shall live on the manager's word.
	w.r.Fleet.RequireEpoch(w.p.key(), storedEpoch(s))
	if err := w.r.patchStatus(ctx, w.p, next); err != nil {
		return err
	}
	next.DeepCopyInto(c)
	return nil
}

// storedEpoch is the highest epoch that a status speaks of.
func storedEpoch(s *v1.RedisClusterStatus) int64 {
	if s.Transition != nil {
		return max(s.Epoch, s.Transition.Epoch)
	}
	return s.Epoch
}

// transition keeps the time at which a transition began.
func (w *writer) transition(before *v1.Transition, t *topology.Transition) *v1.Transition {
	if t == nil {
		return nil
	}
	out := &v1.Transition{
		Kind: v1.TransitionKind(t.Kind), Epoch: t.Epoch, Reason: t.Reason,
		From: t.From, FromUID: t.FromUID, To: t.To, ToUID: t.ToUID,
		StartedAt: metav1.NewMicroTime(w.r.Now()),
	}
	if before != nil && before.Kind == out.Kind && before.From == out.From {
		out.StartedAt = before.StartedAt
	}
	return out
}

// patchStatus writes the status of next under an optimistic lock; next then carries the new version.
func (r *Reconciler) patchStatus(ctx context.Context, p *pass, next *v1.RedisCluster) error {
	patch := client.MergeFromWithOptions(p.before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, next, patch); err != nil {
		return fmt.Errorf("patch status: %w", err)
	}
	p.before = next.DeepCopy()
	return nil
}

// RoutePrimary writes the primary Service's only slice in one update.
func (w *writer) RoutePrimary(ctx context.Context, c *v1.RedisCluster, to *execute.Target) error {
	var backend *desired.Backend
	uid := ""
	if to != nil {
		backend = &desired.Backend{Pod: to.Pod, UID: types.UID(to.UID), Addresses: []string{to.Address}, Node: to.Node}
		uid = to.UID
	}
	slice, err := resources.PrimarySlice(c, w.p.family, backend)
	if err != nil {
		return fmt.Errorf("build slice of the primary Service: %w", err)
	}
	live, err := w.r.applied(ctx, w.p, slice)
	if err != nil {
		return err
	}
	// An apply that changed nothing leaves the version that the cache may have shown already.
	if version := live.GetResourceVersion(); version != w.p.memory.routedVersion {
		w.p.memory.routedVersion, w.p.memory.routedSeen = version, false
	}
	w.p.memory.routedUID = uid
	return nil
}

// DeletePod deletes the pod of that name only if it still has that UID (I6).
func (w *writer) DeletePod(ctx context.Context, c *v1.RedisCluster, name, uid string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name, UID: types.UID(uid)}}
	return w.r.Applier.Delete(ctx, pod)
}
