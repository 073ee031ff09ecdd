package redissim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
)

// runKubernetes lets the garbage collector, the StatefulSet controller and the kubelets do what is due.
func (w *World) runKubernetes() {
	objects := w.Store.Objects()
	w.collectGarbage(objects)
	for _, set := range ofType[*appsv1.StatefulSet](objects) {
		w.runSet(set)
	}
	objects = w.Store.Objects()
	w.runKubelets(objects)
	w.removePods(objects)
}

// ofType are the objects of one type by name.
func ofType[T client.Object](objects map[apistore.Key]client.Object) []T {
	var out []T
	for _, o := range objects {
		if typed, ok := o.(T); ok {
			out = append(out, typed)
		}
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}

// collectGarbage removes objects whose owner is gone.
func (w *World) collectGarbage(objects map[apistore.Key]client.Object) {
	live := map[types.UID]bool{}
	for _, o := range objects {
		live[o.GetUID()] = true
	}
	for _, key := range slices.SortedFunc(maps.Keys(objects), apistore.CompareKeys) {
		o := objects[key]
		owner := metav1.GetControllerOf(o)
		if owner == nil || live[owner.UID] {
			continue
		}
		if _, isPod := o.(*corev1.Pod); isPod {
			w.deletePod(o)
		} else {
			w.Store.Remove(key)
		}
	}
}

func (w *World) deletePod(pod client.Object) {
	if !pod.GetDeletionTimestamp().IsZero() {
		return
	}
	uid := pod.GetUID()
	// One that is gone already needs no deletion.
	_ = w.Store.Client().Delete(context.Background(), pod, client.Preconditions{UID: &uid})
}

// runSet keeps the pods of a StatefulSet with parallel pod management and updates on deletion.
func (w *World) runSet(set *appsv1.StatefulSet) {
	pods := map[string]*corev1.Pod{}
	for _, pod := range ofType[*corev1.Pod](w.Store.Objects()) {
		if pod.Namespace == set.Namespace {
			pods[pod.Name] = pod
		}
	}
	wanted := map[string]bool{}
	for i := range int(ptr.Deref(set.Spec.Replicas, 1)) {
		name := fmt.Sprintf("%s-%d", set.Name, i)
		wanted[name] = true
		if pods[name] == nil {
			w.createPod(set, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if pod := pods[name]; metav1.IsControlledBy(pod, set) && !wanted[name] {
			w.deletePod(pod)
		}
	}
}

func (w *World) createPod(set *appsv1.StatefulSet, name string) {
	t := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	pod.Namespace, pod.Name = set.Namespace, name
	pod.Status.Phase = corev1.PodPending
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	if len(set.Spec.VolumeClaimTemplates) == 0 {
		delete(w.disks, name)
	}
	// It exists already only if it was made a moment ago.
	_ = w.Store.Client().Create(context.Background(), pod)
}

// runKubelets starts the agents of new pods and tells those of deleted ones to stop.
func (w *World) runKubelets(objects map[apistore.Key]client.Object) {
	secrets := map[string]bool{}
	for _, s := range ofType[*corev1.Secret](objects) {
		secrets[s.Namespace+"/"+s.Name] = true
	}
	for _, pod := range ofType[*corev1.Pod](objects) {
		a := w.agents[pod.UID]
		switch {
		case a != nil && !pod.DeletionTimestamp.IsZero():
			a.terminate()
		case a == nil && clusterOf(pod) != "" && pod.DeletionTimestamp.IsZero() && w.now.Sub(pod.CreationTimestamp.Time) > Tick && mounted(pod, secrets):
			w.startPod(pod)
		}
	}
}

// mounted says whether every Secret that the pod mounts is there.
func mounted(pod *corev1.Pod, secrets map[string]bool) bool {
	return !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Secret != nil && !secrets[pod.Namespace+"/"+v.Secret.SecretName]
	})
}

func (w *World) startPod(pod *corev1.Pod) {
	if words, none := w.Images[pod.Spec.Containers[0].Image]; none {
		w.failPull(pod, words)
		return
	}
	number := w.next()
	ip := fmt.Sprintf("10.1.%d.%d", number/250, number%250+1)
	err := w.Store.Edit(pod, func(o client.Object) {
		if p, ok := o.(*corev1.Pod); ok {
			p.Status.PodIP, p.Status.Phase = ip, corev1.PodRunning
			p.Spec.NodeName = "node-" + pod.Name[strings.LastIndexByte(pod.Name, '-')+1:]
		}
	})
	if err != nil {
		return
	}
	w.agents[pod.UID] = newAgent(w, pod, ip)
}

// failPull says in the pod's status why its container does not start.
func (w *World) failPull(pod *corev1.Pod, words string) {
	// A pod that is gone needs no status.
	_ = w.Store.Edit(pod, func(o client.Object) {
		if p, ok := o.(*corev1.Pod); ok {
			waiting := &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: words}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Waiting: waiting},
			}}
		}
	})
}

// clusterOf is the cluster that the agent in a pod was started for.
func clusterOf(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		for _, word := range c.Command {
			if uid, ok := strings.CutPrefix(word, "--cluster="); ok {
				return uid
			}
		}
	}
	return ""
}

// removePods lets go of pods whose agents have ended, and ends agents whose pods were forced out of the API.
func (w *World) removePods(objects map[apistore.Key]client.Object) {
	there := map[types.UID]bool{}
	for _, pod := range ofType[*corev1.Pod](objects) {
		a := w.agents[pod.UID]
		if !pod.DeletionTimestamp.IsZero() && (a == nil || a.gone) {
			w.finishPod(pod)
			continue
		}
		there[pod.UID] = true
	}
	for _, uid := range slices.Collect(maps.Keys(w.agents)) {
		switch a := w.agents[uid]; {
		case there[uid]:
		case a.gone:
			delete(w.agents, uid)
		default:
			a.die()
		}
	}
}

// finishPod takes a pod out of the API whose containers have ended.
func (w *World) finishPod(pod *corev1.Pod) {
	if key, err := w.Store.Key(pod); err == nil {
		w.Store.Remove(key)
	}
}

// disk of a pod, which outlives it unless the pods have no claims.
func (w *World) disk(pod string) *disk {
	if w.disks[pod] == nil {
		w.disks[pod] = &disk{}
	}
	return w.disks[pod]
}

// Pod name of an ordinal.

func ordinalOf(pod string) int {
	n, err := strconv.Atoi(pod[strings.LastIndexByte(pod, '-')+1:])
	if err != nil {
		return -1
	}
	return n
}
