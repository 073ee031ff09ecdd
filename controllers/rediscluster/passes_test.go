package rediscluster

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/credentials"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
	"github.com/holdfast-dev/holdfast/internal/testkit/redissim"
)

func TestAPausedClusterIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := settled(t, kinds(t), wantedCluster(3))
	err := w.Change(func(c *v1.RedisCluster) {
		c.Spec.Paused = true
		// What would be carried out at once.
		c.Spec.Replicas = 5
		c.Spec.Config = map[string]v1.ConfigValue{"databases": "4", "maxmemory-policy": "allkeys-lru"}
		c.Spec.PodMetadata.Labels = map[string]string{"team": "blue"}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Pass(2 * time.Second)
	before, orders := len(w.Store.Changes(0)), w.Manager.Orders()
	if err := setPassword(w, "another"); err != nil {
		t.Fatal(err)
	}
	if err := w.CrashServer("shop-0"); err != nil {
		t.Fatal(err)
	}
	w.Pass(20 * time.Second)
	for _, c := range w.Store.Changes(before) {
		if kind := c.Key.Kind.Kind; kind != "RedisCluster" && c.Key.Name.Name != "shop-auth" {
			t.Errorf("it wrote %s %s", kind, c.Key.Name.Name)
		}
	}
	if n := w.Manager.Orders() - orders; n > 0 {
		t.Errorf("it gave %d orders", n)
	}
	if c := w.RedisCluster(); c.Status.Transition != nil || c.Status.Epoch != 1 {
		t.Errorf("it began %v in epoch %d", c.Status.Transition, c.Status.Epoch)
	}
	if err := w.Change(func(c *v1.RedisCluster) { c.Spec.Paused = false }); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(time.Minute, func() (bool, error) { return serves(w), nil }); err != nil {
		t.Errorf("taken up again: %v", err)
	}
}

// readCounter counts reads past the cache of one Secret.
type readCounter struct {
	client.Client
	name  string
	reads atomic.Int64
}

func (r *readCounter) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, secret := o.(*corev1.Secret); secret && key.Name == r.name {
		r.reads.Add(1)
	}
	return r.Client.Get(ctx, key, o, opts...)
}

// hiding is a cache that shows no Secret without the cluster's label, as the manager's is.
type hiding struct{ client.Client }

func (h hiding) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	found := o
	if _, secret := o.(*corev1.Secret); secret {
		found = &corev1.Secret{}
	}
	if err := h.Client.Get(ctx, key, found, opts...); err != nil {
		return err
	}
	secret, ok := found.(*corev1.Secret)
	if !ok {
		return nil
	}
	if secret.Labels[naming.LabelCluster] == "" {
		return h.Client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: "no such Secret"}, o)
	}
	return h.Client.Get(ctx, key, o, opts...)
}

// givenWorld is a cluster with a Secret of its user's, and the count of the reads of it past the cache.
func givenWorld(t *testing.T, labels map[string]string) (*redissim.World, *readCounter) {
	t.Helper()
	w := redissim.New(kinds(t), shop)
	s := userSecret([]byte("first"))
	s.Labels = labels
	c := wantedCluster(3)
	givenAuth(c)
	for _, o := range []client.Object{s, c} {
		if err := w.Create(o); err != nil {
			t.Fatal(err)
		}
	}
	counter := &readCounter{name: "mine"}
	w.StartManager(func(e redissim.Edges) reconcile.Reconciler {
		counter.Client = e.Live
		e.Live, e.Client = counter, hiding{e.Client}
		return reconcilerOf(e)
	}, apistore.Gate{})
	if err := w.Run(time.Minute, func() (bool, error) { return serves(w), nil }); err != nil {
		t.Fatal(err)
	}
	return w, counter
}

func TestAGivenSecretWithoutALabelIsReadNowAndThen(t *testing.T) {
	t.Parallel()
	w, counter := givenWorld(t, nil)
	for range 600 {
		w.Manager.Pass()
		w.Step()
	}
	// Thirty seconds after the start there were two or three times fifteen.
	if n := counter.reads.Load(); n < 2 || n > 3 {
		t.Errorf("it was read %d times", n)
	}
	if err := w.Store.Edit(userSecret(nil), func(o client.Object) {
		if s, ok := o.(*corev1.Secret); ok {
			s.Data["password"] = []byte("second")
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(2*time.Minute, func() (bool, error) { return everyMember(accepts("second"))(w), nil }); err != nil {
		t.Errorf("the new password: %v", err)
	}
}

func TestAGivenSecretWithTheLabelIsReadFromTheCache(t *testing.T) {
	t.Parallel()
	w, counter := givenWorld(t, map[string]string{naming.LabelCluster: shop.Name})
	w.Pass(time.Minute)
	if n := counter.reads.Load(); n != 0 {
		t.Errorf("it was read %d times past the cache", n)
	}
}

func TestAnotherGivenSecretIsReadAtOnce(t *testing.T) {
	t.Parallel()
	w, _ := givenWorld(t, nil)
	other := userSecret([]byte("other"))
	other.Name = "other"
	if err := w.Create(other); err != nil {
		t.Fatal(err)
	}
	if err := w.Change(func(c *v1.RedisCluster) { c.Spec.Auth.SecretName = "other" }); err != nil {
		t.Fatal(err)
	}
	w.Pass(2 * time.Second)
	if !everyMember(accepts("other"))(w) {
		t.Errorf("members accept %v", w.Members())
	}
}

func TestASecretThatGoesLeavesThePasswordsThatWork(t *testing.T) {
	t.Parallel()
	w := settled(t, kinds(t), wantedCluster(3))
	password := string(w.Secret(naming.AuthSecret(shop.Name)).Data["password"])
	if err := remove(w, &corev1.Secret{ObjectMeta: named(naming.AuthSecret(shop.Name))}); err != nil {
		t.Fatal(err)
	}
	w.Pass(5 * time.Second)
	s := w.Secret(naming.AuthSecret(shop.Name))
	if s == nil || string(s.Data["password"]) != password {
		t.Error("the Secret did not come back as it was")
	}
	if !everyMember(func(m redissim.Member) bool {
		return len(m.Passwords) == 1 && m.Passwords[0] == credentials.Hash(password)
	})(w) {
		t.Errorf("members accept %v", w.Members())
	}
}

func TestAConfigurationThatIsRefusedReachesOneReplicaOnly(t *testing.T) {
	t.Parallel()
	w := settled(t, kinds(t), wantedCluster(3))
	w.Refuses = map[string]string{"hz": "argument must be between 1 and 500"}
	orders := w.Manager.Orders()
	if err := configure(w, "hz", "9000"); err != nil {
		t.Fatal(err)
	}
	w.Pass(10 * time.Second)
	if n := w.Manager.Orders() - orders; n != 1 {
		t.Errorf("%d orders were given, want one", n)
	}
	for _, m := range w.Members() {
		if m.Parameters["hz"] != "" || (m.Primary && m.Pod != "shop-0") {
			t.Errorf("member %s: %v", m.Pod, m.Parameters)
		}
	}
}

func TestAnInvalidConfigurationLeavesTheLastOneInEffect(t *testing.T) {
	t.Parallel()
	w := settled(t, kinds(t), wantedCluster(3))
	if err := configure(w, "maxmemory-policy", "allkeys-lru"); err != nil {
		t.Fatal(err)
	}
	w.Pass(3 * time.Second)
	if err := configure(w, "maxmemory", "much"); err != nil {
		t.Fatal(err)
	}
	if err := w.CrashServer("shop-0"); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(time.Minute, func() (bool, error) { return serves(w) && inEpoch(2)(w), nil }); err != nil {
		t.Fatalf("the failover: %v", err)
	}
	if !everyMember(func(m redissim.Member) bool { return m.Parameters["maxmemory-policy"] == "allkeys-lru" })(w) {
		t.Errorf("members have %v", w.Members())
	}
}

func TestANewManagerRequiresTheStoredEpochFirst(t *testing.T) {
	t.Parallel()
	w := settled(t, kinds(t), wantedCluster(3))
	w.KillManager()
	dead := false
	w.StartManager(reconcilerOf, apistore.Gate{
		Before: func(apistore.Write) error {
			if dead {
				return errDead
			}
			return nil
		},
		After: func(write apistore.Write) error { dead = strings.HasSuffix(write.Verb, "status"); return nil },
	})
	if err := w.CrashServer("shop-0"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		w.Step()
	}
	c := w.RedisCluster()
	if c.Status.Transition == nil {
		t.Fatal("no transition was stored before the manager died")
	}
	w.KillManager()
	m := w.StartManager(reconcilerOf, apistore.Gate{Before: func(apistore.Write) error { return errDead }})
	w.Step()
	if got := m.RequiredEpoch(); got < c.Status.Transition.Epoch {
		t.Errorf("after its first pass it requires epoch %d, want %d", got, c.Status.Transition.Epoch)
	}
}

func TestAStatusThatSomebodyElseWroteMeanwhileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	w := settled(t, kinds(t), wantedCluster(3))
	w.KillManager()
	var tried, done int
	w.StartManager(reconcilerOf, apistore.Gate{
		Before: func(write apistore.Write) error {
			if write.Verb != "patch/status" {
				return nil
			}
			tried++
			if tried > 1 {
				return nil
			}
			return w.Change(func(c *v1.RedisCluster) { c.Annotations = map[string]string{"meanwhile": "yes"} })
		},
		After: func(write apistore.Write) error {
			if write.Verb == "patch/status" && tried == 1 {
				done++
			}
			return nil
		},
	})
	if err := w.CrashServer("shop-0"); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(time.Minute, func() (bool, error) { return serves(w) && inEpoch(2)(w), nil }); err != nil {
		t.Fatal(err)
	}
	if done > 0 {
		t.Error("the intent was stored over a version that was never read")
	}
	if tried < 2 {
		t.Error("it was not tried again")
	}
}
