package rediscluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/apply"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/events"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/steps"
)

// apply brings an object to what was built, under the cluster's ownership, without a write if it is that already.
func (r *Reconciler) apply(ctx context.Context, p *pass, o client.Object) error {
	_, err := r.applied(ctx, p, o)
	return err
}

// applied is apply for a caller that needs the object as it now is.
func (r *Reconciler) applied(ctx context.Context, p *pass, o client.Object) (client.Object, error) {
	result, err := r.Applier.Apply(ctx, p.cluster, o)
	if about, ok := errors.AsType[*apply.ObjectError](err); ok && errors.Is(err, apply.ErrNotOurs) {
		p.problem(v1.ReasonNameConflict, "%s %s exists and belongs to somebody else: remove or rename it, or choose another name for the cluster.", about.Kind, about.Name)
		if p.memory.once("conflict", about.Kind+about.Name) {
			events.NameConflict.Emit(r.Recorder, p.cluster, about.Kind, about.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	if result.Outcome == apply.Repaired {
		events.RepairedObject.Emit(r.Recorder, p.cluster, result.Live.GetObjectKind().GroupVersionKind().Kind, o.GetName())
	}
	return result.Live, nil
}

// applyObjects keeps everything beside the Secrets and the routes.
func (r *Reconciler) applyObjects(ctx context.Context, p *pass, _ *steps.Alarm) (steps.Outcome, error) {
	if p.cluster.Spec.Paused {
		return steps.Continue, nil
	}
	c := p.cluster
	objects := []client.Object{
		resources.HeadlessService(c), resources.PrimaryService(c), resources.ReplicaService(c),
		resources.PodDisruptionBudget(c), resources.NetworkPolicy(c, r.Manager),
	}
	var errs []error
	// The pods take longest to come up, so they come first.
	if !p.config.invalid {
		errs = append(errs, r.applySet(ctx, p))
	}
	for _, o := range objects {
		errs = append(errs, r.apply(ctx, p, o))
	}
	return steps.Continue, errors.Join(errs...)
}

// applySet keeps the StatefulSet. Its size is the decision's: members are freed before they are removed.
func (r *Reconciler) applySet(ctx context.Context, p *pass) error {
	set, err := resources.StatefulSet(p.input(r))
	if err != nil {
		return err
	}
	before := int32(0)
	if p.set != nil {
		before = ptr.Deref(p.set.Spec.Replicas, 0)
	}
	if n := int32(p.decision.SetReplicas); n > 0 {
		set.Spec.Replicas = &n
	}
	if err := r.apply(ctx, p, set); err != nil {
		return err
	}
	switch now := *set.Spec.Replicas; {
	case before == 0 || before == now:
	case before < now:
		events.ScaledOut.Emit(r.Recorder, p.cluster, before, now)
	default:
		events.ScaledIn.Emit(r.Recorder, p.cluster, before, now)
	}
	return nil
}

// routeReplicas leads the replica Service to the replicas that are in step with the primary.
func (r *Reconciler) routeReplicas(ctx context.Context, p *pass, _ *steps.Alarm) (steps.Outcome, error) {
	if p.cluster.Spec.Paused || p.primaryUnknown() || p.newcomer() {
		// Nothing new is known, so nothing is changed.
		return steps.Continue, nil
	}
	var backends []desired.Backend
	for _, m := range p.state.ReadyReplicas() {
		pod := p.pod(m.Name)
		if pod == nil {
			continue
		}
		backends = append(backends, desired.Backend{Pod: pod.Name, UID: pod.UID, Addresses: []string{m.Pod.Address}, Node: pod.Spec.NodeName})
	}
	slice, err := resources.ReplicaSlice(p.cluster, p.family, backends)
	if err != nil {
		return steps.Continue, err
	}
	return steps.Continue, r.apply(ctx, p, slice)
}

func (p *pass) primaryUnknown() bool {
	return p.decision.State == topology.PrimaryUnknown || p.decision.State == topology.PrimarySuspect
}

// newcomer: this manager has just begun to watch a cluster that was reported before, and has not heard
// every agent yet. It must not take its own lack of knowledge for the cluster's.
func (p *pass) newcomer() bool {
	if p.cluster.Status.ObservedGeneration == 0 || p.state.WatchedFor >= p.state.Want.Detection {
		return false
	}
	return slices.ContainsFunc(p.state.Members, func(m topology.Member) bool {
		return m.Pod.Address != "" && m.Agent == nil
	})
}

func (p *pass) pod(name string) *corev1.Pod {
	for i := range p.pods {
		if p.pods[i].Name == name {
			return &p.pods[i]
		}
	}
	return nil
}

// labelPods brings the user's labels and annotations to running pods, and the role for people who list them.
func (r *Reconciler) labelPods(ctx context.Context, p *pass, _ *steps.Alarm) (steps.Outcome, error) {
	if p.cluster.Spec.Paused {
		return steps.Continue, nil
	}
	want, err := resources.PodMetadata(p.cluster)
	if err != nil {
		return steps.Continue, err
	}
	var errs []error
	for i := range p.pods {
		pod := &p.pods[i]
		own := map[string]*string{naming.LabelRole: p.roleLabel(pod)}
		change := desired.Relabel(desired.PodLabels{Labels: pod.Labels, Annotations: pod.Annotations}, want, own)
		if pod.DeletionTimestamp.IsZero() {
			errs = append(errs, r.Applier.Relabel(ctx, pod, change))
		}
	}
	return steps.Continue, errors.Join(errs...)
}

// roleLabel is the role that the pod's server has now. While nothing is known the label stays.
func (p *pass) roleLabel(pod *corev1.Pod) *string {
	live, has := pod.Labels[naming.LabelRole]
	if p.primaryUnknown() {
		if has {
			return &live
		}
		return nil
	}
	switch {
	case string(pod.UID) == p.cluster.Status.PrimaryUID && p.cluster.Status.Transition == nil:
		return ptr.To(naming.RolePrimary)
	case p.cluster.Status.Epoch > 0:
		return ptr.To(naming.RoleReplica)
	}
	return nil
}
