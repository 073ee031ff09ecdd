package objects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/apply"
)

// Oracles O6 and O7, case 15 of the forty: a way through other specs and back ends where a fresh cluster begins.
func TestAWayThroughEveryFieldAndBackLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	c := counting(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	plain := cluster.DeepCopy()
	a := apply.New(c, c)
	applyAll(t, a, cluster, objectsOf(t, cluster))
	before := contents(t, c, cluster)

	shapes()["with everything set"](cluster)
	// The API lets neither of these change.
	cluster.Spec.Storage.StorageClassName = nil
	cluster.Spec.Replicas, cluster.Spec.Version = 5, "8.2"
	changed := 0
	for _, r := range applyAll(t, a, cluster, objectsOf(t, cluster)) {
		if r.Outcome == apply.Updated {
			changed++
		}
	}
	if changed < 4 {
		t.Errorf("only %d objects changed with every field", changed)
	}
	applyAll(t, a, plain, objectsOf(t, plain))
	after := contents(t, c, plain)
	for name, want := range before {
		if diff := cmp.Diff(want, after[name]); diff != "" {
			t.Errorf("%s differs from a fresh one:\n%s", name, diff)
		}
	}
}

// contents reads back what a cluster's objects say, without what the API server counts.
func contents(t *testing.T, c client.Client, cluster *v1.RedisCluster) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, o := range objectsOf(t, cluster) {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		o.SetGeneration(0)
		u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		out[kind+" "+o.GetName()] = u
	}
	return out
}
