package objects_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
)

type edit func(*v1.RedisCluster)

// rule is one rule of the API: what it takes, what it refuses, and with which words.
type rule struct {
	takes   edit
	refuses edit
	message string
}

func config(name, value string) edit {
	return func(c *v1.RedisCluster) { c.Spec.Config = map[string]v1.ConfigValue{name: v1.ConfigValue(value)} }
}

func detection(d time.Duration) edit {
	return func(c *v1.RedisCluster) {
		c.Spec.Failover = v1.FailoverSpec{Detection: metav1.Duration{Duration: d}, Isolation: metav1.Duration{Duration: 5 * time.Minute}}
	}
}

func isolation(d time.Duration) edit {
	return func(c *v1.RedisCluster) {
		c.Spec.Failover = v1.FailoverSpec{Detection: metav1.Duration{Duration: time.Second}, Isolation: metav1.Duration{Duration: d}}
	}
}

func grace(d time.Duration) edit {
	return func(c *v1.RedisCluster) { c.Spec.Auth.OldPasswordGracePeriod = &metav1.Duration{Duration: d} }
}

func named(name string) edit { return func(c *v1.RedisCluster) { c.Name = name } }

func replicas(n int32) edit { return func(c *v1.RedisCluster) { c.Spec.Replicas = n } }

func minReplicas(n int32) edit {
	return func(c *v1.RedisCluster) { c.Spec.Durability.MinReplicasToWrite = &n }
}

func podLabel(key string) edit {
	return func(c *v1.RedisCluster) { c.Spec.PodMetadata.Labels = map[string]string{key: "x"} }
}

func podAnnotation(key string) edit {
	return func(c *v1.RedisCluster) { c.Spec.PodMetadata.Annotations = map[string]string{key: "x"} }
}

func serviceAnnotation(key string) edit {
	return func(c *v1.RedisCluster) { c.Spec.Service.Annotations = map[string]string{key: "x"} }
}

func both(edits ...edit) edit {
	return func(c *v1.RedisCluster) {
		for _, e := range edits {
			e(c)
		}
	}
}

func ephemeral(c *v1.RedisCluster) { c.Spec.Storage = v1.StorageSpec{Ephemeral: true} }

func size(quantity string) edit {
	return func(c *v1.RedisCluster) {
		q := resource.MustParse(quantity)
		c.Spec.Storage.Size = &q
	}
}

func class(name string) edit {
	return func(c *v1.RedisCluster) { c.Spec.Storage.StorageClassName = &name }
}

func image(ref string) edit { return func(c *v1.RedisCluster) { c.Spec.Image = ref } }

func version(v string) edit { return func(c *v1.RedisCluster) { c.Spec.Version = v } }

var createRules = map[string]rule{
	"a version or an image": {
		both(version(""), image("redis:8")), version(""), "set version (for example \"8.0\") or image",
	},
	"a version has two or three numbers": {version("8.0.5"), version("latest"), "spec.version"},
	"an image has no blanks":             {image("registry.example.com/redis@sha256:0123"), image("redis 8"), "image must be an image reference without spaces"},
	"at most nine members":               {replicas(9), replicas(10), "spec.replicas"},
	"the primary is no replica of itself": {
		both(replicas(2), minReplicas(1)), both(replicas(2), minReplicas(2)), "durability.minReplicasToWrite must be smaller than replicas",
	},
	"a volume has a size": {
		size("1Gi"), func(c *v1.RedisCluster) { c.Spec.Storage = v1.StorageSpec{} }, "set size for a volume per member, or ephemeral: true",
	},
	"an ephemeral member has no volume": {ephemeral, both(ephemeral, size("1Gi")), "set size for a volume per member, or ephemeral: true"},
	"an ephemeral member has no class":  {ephemeral, both(ephemeral, class("fast")), "set size for a volume per member, or ephemeral: true"},
	"retention is one of two words": {
		func(c *v1.RedisCluster) { c.Spec.Storage.Retention = v1.RetentionDelete },
		func(c *v1.RedisCluster) { c.Spec.Storage.Retention = "Keep" }, "spec.storage.retention",
	},
	"parameter names are lower case": {config("maxmemory-policy", "allkeys-lru"), config("MaxClients", "1"), "config keys are lower-case parameter names"},
	"values have no second line":     {config("maxclients", `"1" ; $(x)`), config("maxclients", "1\nrequirepass x"), "config values must not contain control characters"},
	"values are not endless":         {config("maxclients", "1"), config("maxclients", strings.Repeat("1", 1025)), "spec.config"},
	"owned parameters":               {config("maxclients", "1"), config("requirepass", "x"), "config must not set a parameter that the operator owns"},
	"families of owned parameters":   {config("maxclients", "1"), config("cluster-enabled", "yes"), "config must not set a parameter that the operator owns"},
	"the grace period has an end":    {grace(24 * time.Hour), grace(25 * time.Hour), "oldPasswordGracePeriod must lie between 0s and 24h"},
	"the grace period is not negative": {
		grace(0), grace(-time.Second), "oldPasswordGracePeriod must lie between 0s and 24h",
	},
	"detection is not hasty":          {detection(time.Second), detection(900 * time.Millisecond), "detection must lie between 1s and 60s"},
	"detection is not endless":        {detection(time.Minute), detection(61 * time.Second), "detection must lie between 1s and 60s"},
	"isolation has bounds":            {isolation(10 * time.Minute), isolation(11 * time.Minute), "isolation must lie between 2s and 10m"},
	"isolation comes after detection": {isolation(2 * time.Second), both(detection(5*time.Second), isolation5), "isolation must be longer than detection"},
	"labels of the operator":          {podLabel("team"), podLabel("db.holdfast.dev/role"), "labels with the prefix db.holdfast.dev/ or app.kubernetes.io/ belong to the operator"},
	"labels of Kubernetes":            {podLabel("team"), podLabel("app.kubernetes.io/name"), "belong to the operator: choose another key"},
	"the label of the revision":       {podLabel("team"), podLabel("controller-revision-hash"), "belong to the operator: choose another key"},
	"annotations of the operator":     {podAnnotation("app.kubernetes.io/x"), podAnnotation("db.holdfast.dev/restart-parts"), "annotations with the prefix db.holdfast.dev/ belong"},
	"annotations of the Services":     {serviceAnnotation("lb"), serviceAnnotation("db.holdfast.dev/x"), "annotations with the prefix db.holdfast.dev/ belong"},
	"type of the Services": {
		func(c *v1.RedisCluster) { c.Spec.Service.Type = corev1.ServiceTypeLoadBalancer },
		func(c *v1.RedisCluster) { c.Spec.Service.Type = corev1.ServiceTypeExternalName }, "spec.service.type",
	},
	"who decides about the primary": {
		func(c *v1.RedisCluster) { c.Spec.UpdateStrategy = v1.UpdateSupervised },
		func(c *v1.RedisCluster) { c.Spec.UpdateStrategy = "Never" }, "spec.updateStrategy",
	},
	"the name leaves room":          {named("a" + strings.Repeat("b", 39)), named("a" + strings.Repeat("b", 40)), "metadata.name must be a DNS label"},
	"the name starts with a letter": {named("a1"), named("1a"), "metadata.name must be a DNS label"},
	"the name has no dots":          {named("a-b"), named("a.b"), "metadata.name must be a DNS label"},
	"the engine is one of two":      {func(c *v1.RedisCluster) { c.Spec.Engine = v1.EngineValkey }, func(c *v1.RedisCluster) { c.Spec.Engine = "KeyDB" }, "spec.engine"},
	"the mode is one that is built": {func(c *v1.RedisCluster) { c.Spec.Mode = v1.RedisModeReplication }, func(c *v1.RedisCluster) { c.Spec.Mode = "Sentinel" }, "spec.mode"},
}

func isolation5(c *v1.RedisCluster) { c.Spec.Failover.Isolation.Duration = 5 * time.Second }

func TestRulesOfCreation(t *testing.T) {
	t.Parallel()
	for name, r := range createRules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			ns := newNamespace(t, c)
			good, bad := wanted(ns), wanted(ns)
			r.takes(good)
			if err := c.Create(t.Context(), good); err != nil {
				t.Errorf("refused: %v", err)
			}
			bad.Name = "bad"
			r.refuses(bad)
			expectRefusal(t, c.Create(t.Context(), bad), r.message)
		})
	}
}

var updateRules = map[string]rule{
	"the mode stays": {func(*v1.RedisCluster) {}, func(c *v1.RedisCluster) { c.Spec.Mode = "Sentinel" }, "spec.mode"},
	"the engine stays": {
		version("8.2"), func(c *v1.RedisCluster) { c.Spec.Engine = v1.EngineValkey }, "engine cannot change on a running cluster",
	},
	"the size stays, however it is written": {size("1024Mi"), size("2Gi"), "storage.size cannot change yet on a running cluster"},
	"the class stays":                       {replicas(5), class("other"), "storage.storageClassName cannot change on a running cluster"},
	"volumes stay": {
		func(c *v1.RedisCluster) { c.Spec.Storage.Retention = v1.RetentionDelete }, ephemeral, "storage.ephemeral cannot change on a running cluster",
	},
}

func TestRulesOfUpdate(t *testing.T) {
	t.Parallel()
	for name, r := range updateRules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			cluster := made(t, c, wanted(newNamespace(t, c)))
			r.takes(cluster)
			if err := c.Update(t.Context(), cluster); err != nil {
				t.Fatalf("refused: %v", err)
			}
			r.refuses(cluster)
			expectRefusal(t, c.Update(t.Context(), cluster), r.message)
		})
	}
}

func expectRefusal(t *testing.T, err error, message string) {
	t.Helper()
	if err == nil {
		t.Error("it was taken")
		return
	}
	if !strings.Contains(err.Error(), message) {
		t.Errorf("error %q does not contain %q", err, message)
	}
}
