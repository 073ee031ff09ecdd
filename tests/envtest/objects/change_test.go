package objects_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/apply"
	"github.com/holdfast-dev/holdfast/internal/desired"
)

func secret(namespace, password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop-auth"},
		Data:       map[string][]byte{"password": []byte(password)},
	}
}

func TestCreateNeverWritesOverWhatExists(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	a := apply.New(blind(c), c)
	if _, fresh, err := a.Create(t.Context(), cluster, secret(cluster.Namespace, "first")); err != nil || !fresh {
		t.Fatalf("first: made=%t, %v", fresh, err)
	}
	live, fresh, err := a.Create(t.Context(), cluster, secret(cluster.Namespace, "second"))
	if err != nil || fresh {
		t.Fatalf("second: made=%t, %v", fresh, err)
	}
	if got := string(live.(*corev1.Secret).Data["password"]); got != "first" {
		t.Errorf("the password is %q", got)
	}
}

func TestCreateDoesNotAdopt(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	if err := c.Create(t.Context(), secret(cluster.Namespace, "theirs")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := apply.New(c, c).Create(t.Context(), cluster, secret(cluster.Namespace, "ours")); !errors.Is(err, apply.ErrNotOurs) {
		t.Errorf("error is %v", err)
	}
}

// I6: every delete names a UID.
func TestDeleteSparesTheSuccessorOfTheSameName(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ns := newNamespace(t, c)
	first := secret(ns, "first")
	if err := c.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	a := apply.New(c, c)
	stale := first.DeepCopy()
	if err := a.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), stale); err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
	if err := c.Create(t.Context(), secret(ns, "second")); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), stale); err != nil {
		t.Errorf("deleting what was replaced: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stale), stale); err != nil {
		t.Errorf("the successor is gone: %v", err)
	}
	if err := a.Delete(t.Context(), secret(ns, "")); err == nil {
		t.Error("a delete without a UID was sent")
	}
}

func TestRelabelChangesThisPodOnly(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	ns := newNamespace(t, c)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop-0", Labels: map[string]string{"old": "1", "theirs": "1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "redis", Image: "redis"}}},
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	a, role := apply.New(c, c), "primary"
	change := desired.Relabelling{Labels: map[string]*string{"old": nil, "db.holdfast.dev/role": &role}}
	if err := a.Relabel(t.Context(), pod, change); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	if len(pod.Labels) != 2 || pod.Labels["theirs"] != "1" || pod.Labels["db.holdfast.dev/role"] != "primary" {
		t.Errorf("labels are %v", pod.Labels)
	}
	pod.UID = "of-another-pod"
	if err := a.Relabel(t.Context(), pod, change); !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
		t.Errorf("the successor of a pod was labelled: %v", err)
	}
}
