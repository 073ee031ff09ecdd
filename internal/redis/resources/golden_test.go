package resources_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/redis/dbconfig"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
)

var update = flag.Bool("update", false, "write the golden files anew")

// durable is a cluster as most people have it.
func durable() *v1.RedisCluster {
	size := resource.MustParse("10Gi")
	return &v1.RedisCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "prod", UID: "11111111-2222-3333-4444-555555555555", Generation: 4},
		Spec: v1.RedisClusterSpec{
			Mode: v1.RedisModeReplication, Engine: v1.EngineRedis, Version: "8.0", Replicas: 3,
			Storage: v1.StorageSpec{Size: &size, Retention: v1.RetentionRetain},
			Service: v1.ServiceSpec{Type: corev1.ServiceTypeClusterIP},
		},
	}
}

// everything sets each optional field of the spec.
func everything() *v1.RedisCluster {
	c := durable()
	class := "fast"
	c.Name = "cart"
	c.Annotations = map[string]string{"db.holdfast.dev/restarted-at": "2026-05-01T10:00:00Z"}
	c.Spec.Engine, c.Spec.Version, c.Spec.Image = v1.EngineValkey, "9.0", "registry.example.com/valkey@sha256:0123"
	c.Spec.Replicas = 5
	c.Spec.Storage.StorageClassName, c.Spec.Storage.Retention = &class, v1.RetentionDelete
	c.Spec.Config = map[string]v1.ConfigValue{"maxmemory-policy": "allkeys-lru", "io-threads": "4"}
	c.Spec.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1024Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
	c.Spec.Scheduling = v1.SchedulingSpec{
		NodeSelector:      map[string]string{"disk": "ssd"},
		Tolerations:       []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		PriorityClassName: "high",
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule,
		}},
	}
	c.Spec.PodMetadata = v1.PodMetadata{
		Labels:      map[string]string{"team": "checkout", "app.kubernetes.io/name": "forged"},
		Annotations: map[string]string{"example.com/note": "hello", "db.holdfast.dev/restart-parts": "forged"},
	}
	c.Spec.Service = v1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Annotations: map[string]string{"example.com/lb": "internal"}}
	return c
}

func ephemeral() *v1.RedisCluster {
	c := durable()
	c.Name = "cache"
	c.Spec.Storage = v1.StorageSpec{Ephemeral: true}
	c.Spec.Replicas = 2
	return c
}

func input(t *testing.T, c *v1.RedisCluster) resources.Input {
	t.Helper()
	config, err := dbconfig.Render(c)
	if err != nil {
		t.Fatalf("render configuration: %v", err)
	}
	return resources.Input{
		Cluster: c, AgentImage: "example.com/holdfast/manager:1.2.3", Config: config,
		Images: resources.Images{Redis: "redis", Valkey: "valkey/valkey"},
	}
}

// objects of a cluster, with two members routed.
func objects(t *testing.T, c *v1.RedisCluster, family discoveryv1.AddressType) []desired.Object {
	t.Helper()
	set, err := resources.StatefulSet(input(t, c))
	if err != nil {
		t.Fatalf("build stateful set: %v", err)
	}
	primary := desired.Backend{Pod: c.Name + "-0", UID: "uid-0", Addresses: []string{"10.0.0.10", "fd00::10"}, Node: "node-a"}
	replica := desired.Backend{Pod: c.Name + "-1", UID: "uid-1", Addresses: []string{"10.0.0.11", "fd00::11"}, Node: "node-b"}
	toPrimary, err := resources.PrimarySlice(c, family, &primary)
	if err != nil {
		t.Fatalf("route to primary: %v", err)
	}
	toReplicas, err := resources.ReplicaSlice(c, family, []desired.Backend{replica})
	if err != nil {
		t.Fatalf("route to replicas: %v", err)
	}
	manager := resources.Manager{Namespace: "holdfast-system", Labels: map[string]string{"control-plane": "manager"}}
	return []desired.Object{
		resources.HeadlessService(c), resources.PrimaryService(c), resources.ReplicaService(c), toPrimary, toReplicas,
		resources.PodDisruptionBudget(c), resources.NetworkPolicy(c, manager), set,
	}
}

func TestRenderedObjects(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		cluster *v1.RedisCluster
		family  discoveryv1.AddressType
		file    string
	}{
		"a durable cluster with defaults": {durable(), discoveryv1.AddressTypeIPv4, "durable.yaml"},
		"a cluster with every field set":  {everything(), discoveryv1.AddressTypeIPv6, "everything.yaml"},
		"an ephemeral cluster of two":     {ephemeral(), discoveryv1.AddressTypeIPv4, "ephemeral.yaml"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var docs []string
			for _, o := range objects(t, c.cluster, c.family) {
				b, err := yaml.Marshal(o)
				if err != nil {
					t.Fatalf("encode %T: %v", o, err)
				}
				docs = append(docs, string(b))
			}
			golden(t, c.file, strings.Join(docs, "---\n"))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatalf("write golden file: %v", err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read golden file (run go test with -update to make it): %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (run go test with -update if this is wanted; -want +got):\n%s", path, diff)
	}
}
