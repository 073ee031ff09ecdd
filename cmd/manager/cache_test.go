package main

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestAPodIsCachedWithoutWhatNobodyReads(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "shop-0", UID: "u", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"}}
	status := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"}
	pod := &corev1.Pod{
		ObjectMeta: *meta.DeepCopy(), Status: status,
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "redis"}}, Volumes: []corev1.Volume{{Name: "data"}}},
	}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	got, err := slimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "n1"}, Status: status}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOnlyOurObjectsAreCached(t *testing.T) {
	t.Parallel()
	objects, err := cachedObjects()
	if err != nil {
		t.Fatal(err)
	}
	for o, by := range objects {
		if by.Label == nil || by.Label.Empty() {
			t.Errorf("%s: the cache takes in foreign objects", reflect.TypeOf(client.Object(o)))
		}
	}
}
