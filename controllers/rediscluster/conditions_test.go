package rediscluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
	"github.com/holdfast-dev/holdfast/internal/testkit/redissim"
)

// situation is something that a cluster is in, and what it must say about itself.
type situation struct {
	// settled before; else the cluster is created into it.
	settled bool
	// shape of the cluster that is created.
	shape func(c *v1.RedisCluster)
	// happens before the manager sees the cluster, or to the settled one.
	happens func(w *redissim.World) error
	// conditions as "Status Reason".
	conditions map[string]string
	// events that must come, each exactly once however long it lasts.
	events []string
}

func healthy(change map[string]string) map[string]string {
	all := map[string]string{
		v1.ConditionAvailable:   "True " + v1.ReasonPrimaryServing,
		v1.ConditionProgressing: "False " + v1.ReasonSettled,
		v1.ConditionDegraded:    "False " + v1.ReasonHealthy,
		v1.ConditionUpToDate:    "True " + v1.ReasonCurrent,
		v1.ConditionPaused:      "False Active",
	}
	for name, is := range change {
		all[name] = is
	}
	return all
}

func creating(degraded string) map[string]string {
	return healthy(map[string]string{
		v1.ConditionAvailable:   "False " + v1.ReasonCreating,
		v1.ConditionProgressing: "True " + v1.ReasonBootstrapping,
		v1.ConditionDegraded:    degraded,
	})
}

func situations() map[string]situation {
	return map[string]situation{
		"everything is well": {settled: true, conditions: healthy(nil)},
		"the image cannot be pulled": {
			shape:      func(c *v1.RedisCluster) { c.Spec.Image = "redis:none" },
			happens:    func(w *redissim.World) error { w.Images["redis:none"] = "not found"; return nil },
			conditions: creating("True " + v1.ReasonPodStuck),
		},
		"a Service of our name belongs to somebody else": {
			happens:    foreign(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop-primary"}}),
			conditions: map[string]string{v1.ConditionDegraded: "True " + v1.ReasonNameConflict, v1.ConditionAvailable: "True " + v1.ReasonPrimaryServing},
			events:     []string{"NameConflict"},
		},
		"a StatefulSet of our name belongs to somebody else": {
			happens:    foreign(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}),
			conditions: creating("True " + v1.ReasonNameConflict),
			events:     []string{"NameConflict"},
		},
		"a Secret of our name belongs to somebody else": {
			happens:    foreign(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-auth"}}),
			conditions: map[string]string{v1.ConditionDegraded: "True " + v1.ReasonNameConflict},
			events:     []string{"NameConflict"},
		},
		"the given Secret does not exist": {
			shape:      givenAuth,
			conditions: creating("True " + v1.ReasonSecretInvalid),
			events:     []string{"SecretInvalid"},
		},
		"the given Secret has no password": {
			shape:      givenAuth,
			happens:    func(w *redissim.World) error { return w.Create(userSecret(nil)) },
			conditions: creating("True " + v1.ReasonSecretInvalid),
			events:     []string{"SecretInvalid"},
		},
		"the password has a control character": {
			shape:      givenAuth,
			happens:    func(w *redissim.World) error { return w.Create(userSecret([]byte("a\nb"))) },
			conditions: creating("True " + v1.ReasonSecretInvalid),
			events:     []string{"SecretInvalid"},
		},
		"the password in the Secret of a running cluster becomes unusable": {
			settled:    true,
			happens:    func(w *redissim.World) error { return setPassword(w, "") },
			conditions: healthy(map[string]string{v1.ConditionDegraded: "True " + v1.ReasonSecretInvalid}),
			events:     []string{"SecretInvalid"},
		},
		"the configuration contradicts the resources": {
			settled:    true,
			happens:    func(w *redissim.World) error { return configure(w, "maxmemory", "many") },
			conditions: healthy(map[string]string{v1.ConditionDegraded: "True " + v1.ReasonConfigRejected}),
			events:     []string{"ConfigRejected"},
		},
		"the servers refuse a parameter": {
			settled: true,
			happens: func(w *redissim.World) error {
				w.Refuses = map[string]string{"hz": "argument must be between 1 and 500"}
				return configure(w, "hz", "9000")
			},
			conditions: healthy(map[string]string{v1.ConditionDegraded: "True " + v1.ReasonConfigRejected}),
			events:     []string{"ConfigRejected"},
		},
		"the operator is told to do nothing from the start": {
			shape:      func(c *v1.RedisCluster) { c.Spec.Paused = true },
			conditions: map[string]string{v1.ConditionPaused: "True Paused", v1.ConditionAvailable: "False " + v1.ReasonCreating},
		},
		"the operator is told to do nothing": {
			settled: true,
			happens: func(w *redissim.World) error {
				return w.Change(func(c *v1.RedisCluster) { c.Spec.Paused = true })
			},
			conditions: map[string]string{v1.ConditionPaused: "True Paused", v1.ConditionAvailable: "True " + v1.ReasonPrimaryServing},
		},
	}
}

func foreign(o client.Object) func(w *redissim.World) error {
	return func(w *redissim.World) error {
		o.SetNamespace(shop.Namespace)
		return w.Create(o)
	}
}

func givenAuth(c *v1.RedisCluster) { c.Spec.Auth.SecretName = "mine" }

func userSecret(password []byte) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: "mine"}, Data: map[string][]byte{}}
	if password != nil {
		s.Data["password"] = password
	}
	return s
}

// in brings a world into the situation and lets some time pass there.
func (s situation) in(t *testing.T, types *apistore.Types) *redissim.World {
	t.Helper()
	var w *redissim.World
	if s.settled {
		w = settled(t, types, wantedCluster(3))
	} else {
		w = redissim.New(types, shop)
	}
	if s.happens != nil {
		if err := s.happens(w); err != nil {
			t.Fatal(err)
		}
	}
	if !s.settled {
		c := wantedCluster(3)
		if s.shape != nil {
			s.shape(c)
		}
		if err := w.Create(c); err != nil {
			t.Fatal(err)
		}
		w.StartManager(reconcilerOf, apistore.Gate{})
	}
	w.Pass(20 * time.Second)
	if err := w.Violation(); err != nil {
		t.Error(err)
	}
	return w
}

func TestAClusterSaysWhatItIsIn(t *testing.T) {
	t.Parallel()
	types := kinds(t)
	for name, s := range situations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := s.in(t, types)
			c := w.RedisCluster()
			for kind, want := range s.conditions {
				if got := condition(c, kind); got != want {
					t.Errorf("%s is %q, want %q", kind, got, want)
				}
			}
			for _, reason := range s.events {
				if n := count(w.Manager.Events(), reason); n != 1 {
					t.Errorf("event %s came %d times: %v", reason, n, w.Manager.Events())
				}
			}
			before := len(w.Store.Changes(0))
			for range 5 {
				w.Manager.Pass()
				w.Step()
			}
			if more := w.Store.Changes(before); len(more) > 0 {
				t.Errorf("nothing changes, and yet it writes:\n%s", describe(more))
			}
		})
	}
}

// condition renders one as "Status Reason"; one of an older generation says so.
func condition(c *v1.RedisCluster, kind string) string {
	for _, is := range c.Status.Conditions {
		if is.Type != kind {
			continue
		}
		if is.ObservedGeneration != c.Generation {
			return fmt.Sprintf("%s %s of generation %d", is.Status, is.Reason, is.ObservedGeneration)
		}
		return string(is.Status) + " " + is.Reason
	}
	return "absent"
}

func TestWhatIsWrongIsTakenBackWhenItIsOver(t *testing.T) {
	t.Parallel()
	types := kinds(t)
	cases := map[string]struct {
		situation string
		repair    func(w *redissim.World) error
	}{
		"the Service is removed": {
			"a Service of our name belongs to somebody else",
			func(w *redissim.World) error { return remove(w, &corev1.Service{ObjectMeta: named("shop-primary")}) },
		},
		"the StatefulSet is removed": {
			"a StatefulSet of our name belongs to somebody else",
			func(w *redissim.World) error { return remove(w, &appsv1.StatefulSet{ObjectMeta: named("shop")}) },
		},
		"the Secret is removed": {
			"a Secret of our name belongs to somebody else",
			func(w *redissim.World) error { return remove(w, &corev1.Secret{ObjectMeta: named("shop-auth")}) },
		},
		"the given Secret is made": {
			"the given Secret does not exist",
			func(w *redissim.World) error { return w.Create(userSecret([]byte("good"))) },
		},
		"the configuration is taken back": {
			"the configuration contradicts the resources",
			func(w *redissim.World) error { return w.Change(func(c *v1.RedisCluster) { c.Spec.Config = nil }) },
		},
		"the refused parameter is taken back": {
			"the servers refuse a parameter",
			func(w *redissim.World) error { return w.Change(func(c *v1.RedisCluster) { c.Spec.Config = nil }) },
		},
		"the image is corrected": {
			"the image cannot be pulled",
			func(w *redissim.World) error { return w.Change(func(c *v1.RedisCluster) { c.Spec.Image = "" }) },
		},
		"the operator may work again": {
			"the operator is told to do nothing",
			func(w *redissim.World) error { return w.Change(func(c *v1.RedisCluster) { c.Spec.Paused = false }) },
		},
		"the operator may work at last": {
			"the operator is told to do nothing from the start",
			func(w *redissim.World) error { return w.Change(func(c *v1.RedisCluster) { c.Spec.Paused = false }) },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := situations()[c.situation].in(t, types)
			if err := c.repair(w); err != nil {
				t.Fatal(err)
			}
			err := w.Run(time.Minute, func() (bool, error) {
				return serves(w) && condition(w.RedisCluster(), v1.ConditionDegraded) == "False "+v1.ReasonHealthy, nil
			})
			if err != nil {
				t.Fatalf("%v\nconditions: %v\nlast pass: %v", err, w.RedisCluster().Status.Conditions, w.Manager.Err())
			}
			for kind, want := range healthy(nil) {
				if got := condition(w.RedisCluster(), kind); got != want {
					t.Errorf("%s is %q, want %q", kind, got, want)
				}
			}
		})
	}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: shop.Namespace, Name: name}
}

func remove(w *redissim.World, o client.Object) error {
	return w.Store.Client().Delete(context.Background(), o)
}
