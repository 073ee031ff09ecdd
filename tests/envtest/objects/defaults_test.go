package objects_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
)

// shortest is what a user has to write.
const shortest = `
apiVersion: db.holdfast.dev/v1
kind: RedisCluster
metadata: {name: shop}
spec:
  version: "8.0"
  storage: {size: 1Gi}
`

func create(t *testing.T, text string) *v1.RedisCluster {
	t.Helper()
	c := newClient(t)
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetNamespace(newNamespace(t, c))
	if err := c.Create(t.Context(), u); err != nil {
		t.Fatalf("make cluster: %v", err)
	}
	cluster := &v1.RedisCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, cluster); err != nil {
		t.Fatal(err)
	}
	return cluster
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s := create(t, shortest).Spec
	checks := map[string]bool{
		"mode":            s.Mode == v1.RedisModeReplication,
		"engine":          s.Engine == v1.EngineRedis,
		"replicas":        s.Replicas == 3,
		"retention":       s.Storage.Retention == v1.RetentionRetain,
		"grace period":    s.Auth.OldPasswordGracePeriod != nil && s.Auth.OldPasswordGracePeriod.Duration == 10*time.Minute,
		"service type":    s.Service.Type == corev1.ServiceTypeClusterIP,
		"detection":       s.Failover.Detection.Duration == 3*time.Second,
		"isolation":       s.Failover.Isolation.Duration == 10*time.Second,
		"update strategy": s.UpdateStrategy == v1.UpdateAutomatic,
		"paused":          !s.Paused,
	}
	for name, ok := range checks {
		if !ok {
			t.Errorf("the default of %s is wrong: %+v", name, s)
		}
	}
}

func TestHalfOfAGroupGetsTheOtherHalfByDefault(t *testing.T) {
	t.Parallel()
	s := create(t, shortest+"  failover: {detection: 5s}\n").Spec
	if s.Failover.Detection.Duration != 5*time.Second || s.Failover.Isolation.Duration != 10*time.Second {
		t.Errorf("failover is %+v", s.Failover)
	}
}

// A Go client that leaves fields out must get the same as a person who does.
func TestAGoClientGetsTheSameDefaults(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	if got, want := cluster.Spec, create(t, shortest).Spec; got.Failover != want.Failover || got.Replicas != want.Replicas ||
		got.Engine != want.Engine || got.Service.Type != want.Service.Type || got.UpdateStrategy != want.UpdateStrategy {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Case 12 of the forty: each optional section may be null.
func TestNullSectionsAreTaken(t *testing.T) {
	t.Parallel()
	for _, section := range []string{
		"config", "auth", "resources", "scheduling", "podMetadata", "service", "failover", "durability", "replicas", "updateStrategy", "paused", "mode", "engine",
	} {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			cluster := create(t, shortest+"  "+section+": null\n")
			// Building from it must not fail either.
			objectsOf(t, cluster)
		})
	}
}

func TestTheScaleSubresourceSetsReplicas(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	scale := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale",
		"metadata": map[string]any{"name": cluster.Name, "namespace": cluster.Namespace},
		"spec":     map[string]any{"replicas": int64(5)},
	}}
	if err := c.SubResource("scale").Update(t.Context(), cluster, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	got := &v1.RedisCluster{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(cluster), got); err != nil {
		t.Fatal(err)
	}
	if got.Spec.Replicas != 5 {
		t.Errorf("replicas are %d", got.Spec.Replicas)
	}
}

func TestAStatusThatIsWrittenIsServed(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	cluster := made(t, c, wanted(newNamespace(t, c)))
	lag := int64(64)
	cluster.Status = v1.RedisClusterStatus{
		Phase: "Ready", Primary: "shop-0", Epoch: 7, ReadyMembers: "1/1", Replicas: 1, SyncSet: []string{"shop-0"},
		Conditions: []metav1.Condition{{
			Type: v1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1.ReasonPrimaryServing, LastTransitionTime: metav1.Now(),
		}},
		Transition: &v1.Transition{Kind: v1.TransitionFailover, Epoch: 8, From: "shop-0", Reason: "x", StartedAt: metav1.NowMicro()},
		Members:    []v1.MemberStatus{{Name: "shop-0", Role: v1.RolePrimary, Ready: true, LagBytes: &lag}},
	}
	if err := c.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	got := &v1.RedisCluster{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(cluster), got); err != nil {
		t.Fatal(err)
	}
	if got.Status.Epoch != 7 || got.Status.Transition == nil || got.Status.Transition.Epoch != 8 || len(got.Status.Members) != 1 {
		t.Errorf("status is %+v", got.Status)
	}
	if got.Generation != 1 {
		t.Errorf("writing the status moved the generation to %d", got.Generation)
	}
}
