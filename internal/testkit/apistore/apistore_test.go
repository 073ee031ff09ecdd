package apistore_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/apply"
	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
)

func newStore(t *testing.T) *apistore.Store {
	t.Helper()
	kinds, err := apistore.NewTypes(clientgoscheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return apistore.New(kinds, func() time.Time { return at })
}

func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{"a": "1"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "redis", Port: 6379, Protocol: corev1.ProtocolTCP}}},
	}
}

func owner(t *testing.T, c client.Client) *corev1.ConfigMap {
	t.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "owner"}}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTheApplierWritesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := s.Client()
	of := owner(t, c)
	changed := service("one")
	changed.Annotations = map[string]string{"b": "2"}
	for i, step := range []struct {
		want    *corev1.Service
		outcome apply.Outcome
	}{
		{service("one"), apply.Created},
		{service("one"), apply.Unchanged},
		{changed, apply.Updated},
		{changed, apply.Unchanged},
	} {
		// A new applier each time: it must see in the store what it owns there.
		r, err := apply.New(c, c).Apply(t.Context(), of, step.want)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if r.Outcome != step.outcome {
			t.Errorf("step %d: %s, want %s", i, r.Outcome, step.outcome)
		}
	}
	live := &corev1.Service{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(changed), live); err != nil {
		t.Fatal(err)
	}
	if _, kept := live.Annotations["a"]; kept || live.Annotations["b"] != "2" {
		t.Errorf("annotations are %v: what is no longer wanted must go", live.Annotations)
	}
}

func TestPreconditionsHold(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := s.Client()
	live := service("one")
	if err := c.Create(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	other := types.UID("another")
	stale := live.DeepCopy()
	stale.ResourceVersion = "0"
	next := stale.DeepCopy()
	next.Annotations["a"] = "2"
	for name, err := range map[string]error{
		"delete with another UID": c.Delete(t.Context(), live, client.Preconditions{UID: &other}),
		"patch of an old version": c.Patch(t.Context(), next, client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{})),
		"patch with another UID": c.Patch(t.Context(), live.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"uid":"another"}}`))),
	} {
		if !apierrors.IsConflict(err) {
			t.Errorf("%s: got %v, want a conflict", name, err)
		}
	}
}

func TestACopyGoesItsOwnWay(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if err := s.Client().Create(t.Context(), service("both")); err != nil {
		t.Fatal(err)
	}
	other := s.Copy(time.Now)
	if err := other.Client().Create(t.Context(), service("there")); err != nil {
		t.Fatal(err)
	}
	if err := s.Client().Create(t.Context(), service("here")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]bool{"both": {true, true}, "here": {true, false}, "there": {false, true}} {
		for i, store := range []*apistore.Store{s, other} {
			err := store.Client().Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, &corev1.Service{})
			if (err == nil) != want[i] {
				t.Errorf("store %d has %s: %v", i, name, err)
			}
		}
	}
	if mine, theirs := s.Changes(0), other.Changes(0); len(mine) != 2 || len(theirs) != 2 || mine[1].Key == theirs[1].Key {
		t.Errorf("changes are %d and %d", len(mine), len(theirs))
	}
}

func TestAViewLagsBehind(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	view := s.View()
	cached := s.Cached(view, apistore.Gate{})
	if err := cached.Create(t.Context(), service("one")); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKey{Namespace: "shop", Name: "one"}
	view.Follow(1)
	if err := cached.Get(t.Context(), key, &corev1.Service{}); !apierrors.IsNotFound(err) {
		t.Errorf("one change behind, the view shows it: %v", err)
	}
	view.Follow(0)
	if err := cached.Get(t.Context(), key, &corev1.Service{}); err != nil {
		t.Errorf("up to date, the view does not show it: %v", err)
	}
}

func TestAGateRefusesOrLosesTheAnswer(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	lost := errors.New("lost")
	for name, c := range map[string]struct {
		gate    apistore.Gate
		written bool
	}{
		"refused before":    {apistore.Gate{Before: func(apistore.Write) error { return lost }}, false},
		"answer lost after": {apistore.Gate{After: func(apistore.Write) error { return lost }}, true},
	} {
		o := service("a")
		o.Name = map[bool]string{true: "written", false: "unwritten"}[c.written]
		if err := s.Cached(s.View(), c.gate).Create(t.Context(), o.DeepCopy()); !errors.Is(err, lost) {
			t.Errorf("%s: got %v", name, err)
		}
		err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(o), &corev1.Service{})
		if (err == nil) != c.written {
			t.Errorf("%s: the object: %v", name, err)
		}
	}
}
