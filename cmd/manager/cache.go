package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// cachedObjects keeps foreign objects out of the cache: everything of a cluster carries its label. Managed
// fields stay where we apply, since they say what is ours; pods are only read.
func cachedObjects() (map[client.Object]cache.ByObject, error) {
	ours, err := labels.NewRequirement(naming.LabelCluster, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("select our objects: %w", err)
	}
	selector := labels.NewSelector().Add(*ours)
	objects := map[client.Object]cache.ByObject{}
	for _, o := range []client.Object{
		&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.Secret{}, &discoveryv1.EndpointSlice{},
		&policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
	} {
		objects[o] = cache.ByObject{Label: selector}
	}
	objects[&corev1.Pod{}] = cache.ByObject{Label: selector, Transform: slimPod}
	return objects, nil
}

// slimPod keeps of a pod what is read of it: its metadata, its node and its status. What the pod was
// made from is in an annotation. The rest of the spec is most of the cache's size, and is copied with
// every list.
func slimPod(in any) (any, error) {
	pod, ok := in.(*corev1.Pod)
	if !ok {
		return in, nil
	}
	pod.ManagedFields = nil
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	return pod, nil
}
