package rediscluster

import (
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/apply"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
	"github.com/holdfast-dev/holdfast/internal/testkit/redissim"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// shop is the cluster of all worlds here.
var shop = types.NamespacedName{Namespace: "prod", Name: "shop"}

// kinds that the worlds know.
func kinds(t *testing.T) *apistore.Types {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	types, err := apistore.NewTypes(scheme)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// reconcilerOf is the real reconciler, in a world.
func reconcilerOf(e redissim.Edges) reconcile.Reconciler {
	r := New(Options{
		Client: e.Client, Live: e.Live, Applier: apply.New(e.Client, e.Live),
		Fleet: e.Fleet, Recorder: e.Events, Now: e.Now, Random: e.Random,
		AgentImage: "agent:1", Images: resources.Images{Redis: "redis", Valkey: "valkey/valkey"},
		Manager: resources.Manager{Namespace: "holdfast-system"},
	})
	r.period = time.Hour
	return r
}

// wantedCluster is a RedisCluster as the API server hands it out, with its defaults.
func wantedCluster(replicas int32) *v1.RedisCluster {
	size := resource.MustParse("1Gi")
	return &v1.RedisCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.Name},
		Spec: v1.RedisClusterSpec{
			Mode: v1.RedisModeReplication, Engine: v1.EngineRedis, Version: "8.0", Replicas: replicas,
			Storage: v1.StorageSpec{Size: &size, Retention: v1.RetentionRetain},
			Auth:    v1.AuthSpec{OldPasswordGracePeriod: &metav1.Duration{Duration: 3 * time.Second}},
			Failover: v1.FailoverSpec{
				Detection: metav1.Duration{Duration: 3 * time.Second}, Isolation: metav1.Duration{Duration: 10 * time.Second},
			},
			UpdateStrategy: v1.UpdateAutomatic,
		},
	}
}

// settled is a world in which a cluster of that size serves.
func settled(t *testing.T, types *apistore.Types, cluster *v1.RedisCluster) *redissim.World {
	t.Helper()
	w := redissim.New(types, shop)
	if err := w.Create(cluster); err != nil {
		t.Fatal(err)
	}
	m := w.StartManager(reconcilerOf, apistore.Gate{})
	if err := w.Run(time.Minute, func() (bool, error) { return serves(w), nil }); err != nil {
		t.Fatalf("%v\nlast pass: %v\nevents: %v", err, m.Err(), m.Events())
	}
	return w
}

// serves says whether the cluster is as its spec wants it.
func serves(w *redissim.World) bool {
	c := w.RedisCluster()
	if c == nil || c.Status.Transition != nil || w.Serving() != c.Status.Primary || c.Status.Primary == "" {
		return false
	}
	inStep := 0
	for _, m := range w.Members() {
		if m.InStep {
			inStep++
		}
	}
	return inStep == int(c.Spec.Replicas)-1 && len(w.Members()) == int(c.Spec.Replicas)
}
