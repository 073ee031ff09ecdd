package resources_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
	"github.com/holdfast-dev/holdfast/internal/rollout"
)

var restarts = map[string]struct {
	change func(*resources.Input, *v1.RedisCluster)
	want   []rollout.Reason
}{
	"nothing": {func(*resources.Input, *v1.RedisCluster) {}, nil},
	"a new version": {
		func(_ *resources.Input, c *v1.RedisCluster) { c.Spec.Version = "8.2" },
		[]rollout.Reason{"image redis:8.0 → redis:8.2"},
	},
	"an image": {
		func(_ *resources.Input, c *v1.RedisCluster) { c.Spec.Image = "mine:1" },
		[]rollout.Reason{"image redis:8.0 → mine:1"},
	},
	"a memory limit": {
		func(_ *resources.Input, c *v1.RedisCluster) {
			c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
		},
		[]rollout.Reason{"resources none → limits memory 2Gi"},
	},
	"a node selector": {
		func(_ *resources.Input, c *v1.RedisCluster) {
			c.Spec.Scheduling.NodeSelector = map[string]string{"disk": "ssd"}
		},
		[]rollout.Reason{`node selector none → {"disk":"ssd"}`},
	},
	"a parameter read at start": {
		func(_ *resources.Input, c *v1.RedisCluster) {
			c.Spec.Config = map[string]v1.ConfigValue{"databases": "32"}
		},
		[]rollout.Reason{"config databases default → 32"},
	},
	"a restart asked for": {
		func(_ *resources.Input, c *v1.RedisCluster) {
			c.Annotations = map[string]string{"db.holdfast.dev/restarted-at": "now"}
		},
		[]rollout.Reason{"restart asked at none → now"},
	},
	"a parameter the server takes live": {
		func(_ *resources.Input, c *v1.RedisCluster) {
			c.Spec.Config = map[string]v1.ConfigValue{"maxclients": "200"}
		}, nil,
	},
	"another image of the operator (I10)": {
		func(in *resources.Input, _ *v1.RedisCluster) { in.AgentImage = "example.com/holdfast/manager:9" }, nil,
	},
	"labels, services and clocks": {
		func(_ *resources.Input, c *v1.RedisCluster) {
			c.Spec.PodMetadata.Labels = map[string]string{"a": "b"}
			c.Spec.Service.Type = corev1.ServiceTypeNodePort
			c.Spec.Auth.SecretName = "other"
			c.Spec.UpdateStrategy = v1.UpdateSupervised
		}, nil,
	},
	"the number of members": {
		func(_ *resources.Input, c *v1.RedisCluster) { c.Spec.Replicas = 5 }, nil,
	},
}

func TestWhatRestartsMembersAndWhy(t *testing.T) {
	t.Parallel()
	for name, c := range restarts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := resources.Parts(input(t, durable()))
			if err != nil {
				t.Fatal(err)
			}
			cluster := durable()
			in := input(t, cluster)
			c.change(&in, cluster)
			changed := input(t, cluster)
			changed.AgentImage = in.AgentImage
			after, err := resources.Parts(changed)
			if err != nil {
				t.Fatal(err)
			}
			got := rollout.Diff(before, after)
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}
