package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// node is where all pods are said to run.
const node = "simulated"

// playKubernetes makes the pods that a StatefulSet asks for and lets them run, as the StatefulSet
// controller, the scheduler and a kubelet would. Pods that are there already stay as they are.
func (w *world) playKubernetes(ctx context.Context, c *cluster) error {
	set := &appsv1.StatefulSet{}
	key := client.ObjectKey{Namespace: c.namespace, Name: naming.StatefulSet(c.name)}
	if err := w.server.client.Get(ctx, key, set); err != nil {
		// The manager has not made it yet.
		return client.IgnoreNotFound(err)
	}
	wanted := int(ptr.Deref(set.Spec.Replicas, 1))
	if wanted == len(c.members) {
		return nil
	}
	for i := len(c.members); i < wanted; i++ {
		pod, err := w.runPod(ctx, set, i)
		if err != nil {
			return err
		}
		if err := w.startAgent(ctx, c, pod); err != nil {
			return err
		}
	}
	set.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: int32(wanted), ReadyReplicas: int32(wanted), AvailableReplicas: int32(wanted),
		CurrentReplicas: int32(wanted), UpdatedReplicas: int32(wanted),
		CurrentRevision: set.Name + "-0", UpdateRevision: set.Name + "-0",
	}
	if err := w.server.client.Status().Update(ctx, set); err != nil {
		return fmt.Errorf("update status of StatefulSet %s: %w", set.Name, err)
	}
	return nil
}

// runPod makes a pod and says that it runs.
func (w *world) runPod(ctx context.Context, set *appsv1.StatefulSet, ordinal int) (*corev1.Pod, error) {
	pod := podOf(set, ordinal)
	if err := w.server.client.Create(ctx, pod); err != nil {
		return nil, fmt.Errorf("create pod %s: %w", pod.Name, err)
	}
	pod.Status = running(pod, addressOf(w.agents), metav1.NewTime(time.Now()))
	w.agents++
	if err := w.server.client.Status().Update(ctx, pod); err != nil {
		return nil, fmt.Errorf("update status of pod %s: %w", pod.Name, err)
	}
	return pod, nil
}

func podOf(set *appsv1.StatefulSet, ordinal int) *corev1.Pod {
	t := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	pod.Namespace, pod.Name = set.Namespace, naming.Pod(set.Name, ordinal)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = set.Name + "-0"
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Spec.NodeName = node
	for _, claim := range set.Spec.VolumeClaimTemplates {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: claim.Name,
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: claim.Name + "-" + pod.Name,
			}},
		})
	}
	return pod
}

func running(pod *corev1.Pod, address string, now metav1.Time) corev1.PodStatus {
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}, StartTime: &now,
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: true, Started: ptr.To(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}

// podsStayed says whether the manager left the pods alone.
func (w *world) podsStayed(ctx context.Context) error {
	var pods corev1.PodList
	if err := w.server.client.List(ctx, &pods); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	known := map[string]bool{}
	for _, c := range w.clusters {
		for _, m := range c.members {
			known[m.podUID] = true
		}
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; !known[string(p.UID)] || !p.DeletionTimestamp.IsZero() {
			return fmt.Errorf("pod %s of namespace %s is new or being deleted", p.Name, p.Namespace)
		}
	}
	if len(pods.Items) != w.agents {
		return fmt.Errorf("%d pods are left of %d", len(pods.Items), w.agents)
	}
	return nil
}
