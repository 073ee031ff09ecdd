package objects_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/apply"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
)

// counter counts the requests that write.
type counter struct {
	client.WithWatch
	writes atomic.Int64
}

func counting(t *testing.T) *counter {
	t.Helper()
	c := &counter{}
	c.WithWatch = interceptor.NewClient(newClient(t), interceptor.Funcs{
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			c.writes.Add(1)
			return w.Apply(ctx, o, opts...)
		},
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			c.writes.Add(1)
			return w.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			c.writes.Add(1)
			return w.Patch(ctx, o, p, opts...)
		},
		Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			c.writes.Add(1)
			return w.Update(ctx, o, opts...)
		},
	})
	return c
}

func applyAll(t *testing.T, a *apply.Applier, owner client.Object, objects []client.Object) []apply.Result {
	t.Helper()
	results := make([]apply.Result, 0, len(objects))
	for _, o := range objects {
		r, err := a.Apply(t.Context(), owner, o)
		if err != nil {
			t.Fatalf("apply %T: %v", o, err)
		}
		results = append(results, r)
	}
	return results
}

// shapes are clusters that between them set every field of the spec.
func shapes() map[string]func(*v1.RedisCluster) {
	return map[string]func(*v1.RedisCluster){
		"with defaults": func(*v1.RedisCluster) {},
		"ephemeral":     func(c *v1.RedisCluster) { c.Spec.Storage = v1.StorageSpec{Ephemeral: true} },
		"with everything set": func(c *v1.RedisCluster) {
			class := "fast"
			c.Spec.Storage.StorageClassName, c.Spec.Storage.Retention = &class, v1.RetentionDelete
			c.Spec.Config = map[string]v1.ConfigValue{"databases": "4"}
			c.Spec.Resources = corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5"), corev1.ResourceMemory: resource.MustParse("1024Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
			}
			c.Spec.Scheduling = v1.SchedulingSpec{
				NodeSelector:      map[string]string{"disk": "ssd"},
				Tolerations:       []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
				PriorityClassName: "high",
				Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
						Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{
							TopologyKey: "rack", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
						},
					}},
				}},
				TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
					{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule},
					{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.ScheduleAnyway},
				},
			}
			c.Spec.PodMetadata = v1.PodMetadata{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"}}
			c.Spec.Service = v1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Annotations: map[string]string{"lb": "c"}}
		},
	}
}

func TestApplyingTheSameAgainWritesNothing(t *testing.T) {
	t.Parallel()
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := counting(t)
			cluster := wanted(newNamespace(t, newClient(t)))
			shape(cluster)
			made(t, newClient(t), cluster)
			for i, r := range applyAll(t, apply.New(c, c), cluster, objectsOf(t, cluster)) {
				if r.Outcome != apply.Created {
					t.Errorf("object %d: first apply is %s", i, r.Outcome)
				}
			}
			first := c.writes.Load()
			if want := int64(len(objectsOf(t, cluster))); first != want {
				t.Errorf("%d writes for %d objects", first, want)
			}
			// A new Applier knows nothing: this is the manager after a restart.
			for _, r := range applyAll(t, apply.New(c, c), cluster, objectsOf(t, cluster)) {
				if r.Outcome != apply.Unchanged {
					t.Errorf("%T is %s after a restart", r.Live, r.Outcome)
				}
			}
			if got := c.writes.Load(); got != first {
				t.Errorf("%d writes too many", got-first)
			}
		})
	}
}

func TestWhatIsNoLongerWantedGoesAndWhatOthersAddStays(t *testing.T) {
	t.Parallel()
	c := counting(t)
	cluster := wanted(newNamespace(t, c))
	cluster.Spec.Service.Annotations = map[string]string{"lb": "internal", "keep": "yes"}
	made(t, c, cluster)
	a := apply.New(c, c)
	applyAll(t, a, cluster, objectsOf(t, cluster))

	var service corev1.Service
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: "shop-primary"}
	if err := c.Get(t.Context(), key, &service); err != nil {
		t.Fatal(err)
	}
	address := service.Spec.ClusterIP
	service.Annotations["theirs"] = "1"
	if err := c.Update(t.Context(), &service); err != nil {
		t.Fatal(err)
	}
	if r := applyAll(t, a, cluster, []client.Object{resources.PrimaryService(cluster)})[0]; r.Outcome != apply.Unchanged {
		t.Errorf("an annotation of a third party made the service %s", r.Outcome)
	}
	cluster.Spec.Service.Annotations = map[string]string{"keep": "yes"}
	if r := applyAll(t, a, cluster, []client.Object{resources.PrimaryService(cluster)})[0]; r.Outcome != apply.Updated {
		t.Errorf("taking an annotation back made the service %s", r.Outcome)
	}
	if err := c.Get(t.Context(), key, &service); err != nil {
		t.Fatal(err)
	}
	if len(service.Annotations) != 2 || service.Annotations["theirs"] != "1" || service.Annotations["keep"] != "yes" {
		t.Errorf("annotations are %v", service.Annotations)
	}
	if service.Spec.ClusterIP != address {
		t.Errorf("the address moved from %s to %s", address, service.Spec.ClusterIP)
	}
}

func TestWhatSomebodyElseChangedIsRepaired(t *testing.T) {
	t.Parallel()
	c := counting(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	a := apply.New(c, c)
	applyAll(t, a, cluster, objectsOf(t, cluster))

	var slice discoveryv1.EndpointSlice
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: "shop-primary"}
	if err := c.Get(t.Context(), key, &slice); err != nil {
		t.Fatal(err)
	}
	slice.Endpoints[0].Addresses = []string{"10.9.9.9"}
	if err := c.Update(t.Context(), &slice); err != nil {
		t.Fatal(err)
	}
	var budget policyv1.PodDisruptionBudget
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: "shop"}, &budget); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), &budget); err != nil {
		t.Fatal(err)
	}
	repaired := 0
	for _, r := range applyAll(t, a, cluster, objectsOf(t, cluster)) {
		if r.Outcome == apply.Repaired {
			repaired++
		} else if r.Outcome != apply.Unchanged {
			t.Errorf("%T is %s", r.Live, r.Outcome)
		}
	}
	if repaired != 2 {
		t.Errorf("%d objects were repaired, want 2", repaired)
	}
	if err := c.Get(t.Context(), key, &slice); err != nil {
		t.Fatal(err)
	}
	if got := slice.Endpoints[0].Addresses[0]; got != "10.0.0.1" {
		t.Errorf("the service leads to %s", got)
	}
}

func TestAnObjectOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	owned := func(by string) func(*v1.RedisCluster) client.Object {
		return func(c *v1.RedisCluster) client.Object {
			yes := true
			o := foreign(c.Namespace)
			o.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "db.holdfast.dev/v1", Kind: "RedisCluster", Name: by, UID: "an-earlier-one", Controller: &yes,
			}}
			return o
		}
	}
	cases := map[string]struct {
		build func(*v1.RedisCluster) client.Object
		want  error
	}{
		"without an owner":   {func(c *v1.RedisCluster) client.Object { return foreign(c.Namespace) }, apply.ErrNotOurs},
		"of another cluster": {owned("another"), apply.ErrNotOurs},
		// The garbage collector is about to take it away: it is waited for, and nobody is told of a conflict.
		"of a cluster that had this name before": {owned("shop"), apply.ErrBeingDeleted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := counting(t)
			cluster := made(t, c, wanted(newNamespace(t, c)))
			theirs := tc.build(cluster)
			if err := c.Create(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			before := c.writes.Load()
			_, err := apply.New(c, c).Apply(t.Context(), cluster, resources.PrimaryService(cluster))
			if !errors.Is(err, tc.want) {
				t.Errorf("error is %v, want %v", err, tc.want)
			}
			var detail *apply.ObjectError
			if !errors.As(err, &detail) || detail.Kind != "Service" || detail.Name != "shop-primary" {
				t.Errorf("the error names %+v", detail)
			}
			if got := c.writes.Load(); got != before {
				t.Errorf("%d writes", got-before)
			}
		})
	}
}

func foreign(namespace string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop-primary"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "redis", Port: 6379, TargetPort: intstr.FromInt32(1234)}}},
	}
}

// blind shows no object: it stands for a cache that is filtered, or behind.
func blind(c client.WithWatch) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(corev1.Resource("any"), key.Name)
		},
	})
}

func TestACacheThatShowsNothingHidesNoForeignObject(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	if err := c.Create(t.Context(), foreign(cluster.Namespace)); err != nil {
		t.Fatal(err)
	}
	_, err := apply.New(blind(c), c).Apply(t.Context(), cluster, resources.PrimaryService(cluster))
	if !errors.Is(err, apply.ErrNotOurs) {
		t.Errorf("error is %v", err)
	}
	// Even if it appears in the moment after we looked.
	_, err = apply.New(blind(c), blind(c)).Apply(t.Context(), cluster, resources.PrimaryService(cluster))
	if !errors.Is(err, apply.ErrNotOurs) {
		t.Errorf("error in a race is %v", err)
	}
	var service corev1.Service
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(foreign(cluster.Namespace)), &service); err != nil {
		t.Fatal(err)
	}
	if len(service.OwnerReferences) != 0 || service.Spec.Ports[0].TargetPort.IntValue() != 1234 {
		t.Errorf("the foreign service was changed: %+v", service)
	}
}

func TestACacheBehindOurOwnWriteCausesNoSecondWrite(t *testing.T) {
	t.Parallel()
	c := counting(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	a := apply.New(c, c)
	old := applyAll(t, a, cluster, []client.Object{resources.PrimaryService(cluster)})[0].Live

	behind := &counter{}
	behind.WithWatch = interceptor.NewClient(c, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
			s, ok := into.(*corev1.Service)
			if !ok {
				return errors.New("only services are shown")
			}
			old.DeepCopyObject().(*corev1.Service).DeepCopyInto(s)
			return nil
		},
	})
	late := apply.New(behind, c)
	cluster.Spec.Service.Annotations = map[string]string{"new": "yes"}
	before := c.writes.Load()
	for range 3 {
		applyAll(t, late, cluster, []client.Object{resources.PrimaryService(cluster)})
	}
	if got := c.writes.Load() - before; got != 1 {
		t.Errorf("%d writes for one change", got)
	}
}

func TestAnObjectOnItsWayOutIsNotApplied(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	a := apply.New(c, c)
	live := applyAll(t, a, cluster, []client.Object{resources.PrimaryService(cluster)})[0].Live
	live.SetFinalizers([]string{"example.com/hold"})
	if err := c.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), cluster, resources.PrimaryService(cluster)); !errors.Is(err, apply.ErrBeingDeleted) {
		t.Errorf("error is %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		t.Fatal(err)
	}
	live.SetFinalizers(nil)
	if err := c.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
}
