package objects_test

import (
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/redis/dbconfig"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
)

// wanted is the shortest cluster that a user can write.
func wanted(namespace string) *v1.RedisCluster {
	size := resource.MustParse("1Gi")
	return &v1.RedisCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: namespace},
		Spec:       v1.RedisClusterSpec{Version: "8.0", Storage: v1.StorageSpec{Size: &size}},
	}
}

func made(t *testing.T, c client.Client, cluster *v1.RedisCluster) *v1.RedisCluster {
	t.Helper()
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatalf("make cluster: %v", err)
	}
	return cluster
}

// objectsOf builds all objects of a cluster, routed to one primary.
func objectsOf(t *testing.T, c *v1.RedisCluster) []client.Object {
	t.Helper()
	config, err := dbconfig.Render(c)
	if err != nil {
		t.Fatalf("render configuration: %v", err)
	}
	set, err := resources.StatefulSet(resources.Input{
		Cluster: c, AgentImage: "example.com/manager:1", Config: config,
		Images: resources.Images{Redis: "redis", Valkey: "valkey/valkey"},
	})
	if err != nil {
		t.Fatalf("build stateful set: %v", err)
	}
	primary := desired.Backend{Pod: "shop-0", UID: "u0", Addresses: []string{"10.0.0.1"}, Node: "a"}
	toPrimary, err := resources.PrimarySlice(c, discoveryv1.AddressTypeIPv4, &primary)
	if err != nil {
		t.Fatalf("route to primary: %v", err)
	}
	toReplicas, err := resources.ReplicaSlice(c, discoveryv1.AddressTypeIPv4, nil)
	if err != nil {
		t.Fatalf("route to replicas: %v", err)
	}
	manager := resources.Manager{Namespace: "holdfast-system", Labels: map[string]string{"app": "manager"}}
	return []client.Object{
		resources.HeadlessService(c), resources.PrimaryService(c), resources.ReplicaService(c), toPrimary, toReplicas,
		resources.PodDisruptionBudget(c), resources.NetworkPolicy(c, manager), set,
	}
}
