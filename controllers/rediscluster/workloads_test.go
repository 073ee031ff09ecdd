package rediscluster

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/credentials"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/redissim"
)

// workload is something that happens to a cluster, and what the cluster must come to.
type workload struct {
	// members that serve before it begins; 0: there is no cluster.
	members int32
	// acts in their order, each when its time has come.
	acts []act
	// unplanned: a primary is lost in it. In the others nobody may speak of a failover.
	unplanned bool
	// done says whether the cluster is what it must come to, beside being quiet and serving.
	done func(w *redissim.World) bool
}

type act struct {
	// when; nil: at once.
	when func(w *redissim.World) bool
	do   func(w *redissim.World) error
}

func at(do func(w *redissim.World) error) []act { return []act{{do: do}} }

func workloads() map[string]workload {
	return map[string]workload{
		"a cluster is created": {
			acts: at(func(w *redissim.World) error { return w.Create(wantedCluster(3)) }),
		},
		"the server of the primary crashes": {
			unplanned: true,
			members:   3,
			acts:      at(func(w *redissim.World) error { return w.CrashServer("shop-0") }),
			done:      inEpoch(2),
		},
		"the pod of the primary is deleted": {
			members: 3,
			acts:    at(func(w *redissim.World) error { return w.DeletePod("shop-0") }),
			done:    func(w *redissim.World) bool { return w.Serving() != "shop-0" },
		},
		"the pod of the primary is forced away": {
			unplanned: true,
			members:   3,
			acts:      at(func(w *redissim.World) error { return w.ForcePodAway("shop-0") }),
			done:      inEpoch(2),
		},
		"three members become five": {
			members: 3,
			acts:    at(func(w *redissim.World) error { return scale(w, 5) }),
		},
		"five members become two and the primary leaves": {
			members: 5,
			acts: []act{
				{do: func(w *redissim.World) error {
					return errors.Join(w.DeletePod("shop-0"), w.DeletePod("shop-1"))
				}},
				{when: servesFrom(2), do: func(w *redissim.World) error { return scale(w, 2) }},
			},
		},
		"a parameter that needs a restart changes": {
			members: 3,
			acts:    at(func(w *redissim.World) error { return configure(w, "databases", "32") }),
			done:    everyMember(func(m redissim.Member) bool { return m.Parameters["databases"] == "32" }),
		},
		"a parameter changes while the servers run": {
			members: 3,
			acts:    at(func(w *redissim.World) error { return configure(w, "maxmemory-policy", "allkeys-lru") }),
			done:    everyMember(func(m redissim.Member) bool { return m.Parameters["maxmemory-policy"] == "allkeys-lru" }),
		},
		"the password changes, and changes again in its grace": {
			members: 3,
			acts: []act{
				{do: func(w *redissim.World) error { return setPassword(w, "second") }},
				{when: everyMember(accepts("second")), do: func(w *redissim.World) error { return setPassword(w, "third") }},
			},
			done: everyMember(func(m redissim.Member) bool {
				return len(m.Passwords) == 1 && m.Passwords[0] == credentials.Hash("third")
			}),
		},
		"an image that cannot be pulled is taken back": {
			members: 3,
			acts: []act{
				{do: func(w *redissim.World) error {
					w.Images["redis:none"] = "not found"
					return setImage(w, "redis:none")
				}},
				{when: somePodIsStuck, do: func(w *redissim.World) error { return setImage(w, "") }},
			},
			done: func(w *redissim.World) bool { return !somePodIsStuck(w) },
		},
		"three members become one": {
			members: 3,
			acts:    at(func(w *redissim.World) error { return scale(w, 1) }),
		},
		"all pods are forced away at once": {
			unplanned: true,
			members:   3,
			acts:      at(allPodsAway),
		},
		"a cluster is deleted and made again under its name": {
			members: 3,
			acts:    at(remake),
			done:    func(w *redissim.World) bool { return w.RedisCluster().Annotations["made"] == "again" },
		},
	}
}

func scale(w *redissim.World, to int32) error {
	return w.Change(func(c *v1.RedisCluster) { c.Spec.Replicas = to })
}

func setImage(w *redissim.World, image string) error {
	return w.Change(func(c *v1.RedisCluster) { c.Spec.Image = image })
}

// somePodIsStuck says whether the cluster reports a pod that cannot come up.
func somePodIsStuck(w *redissim.World) bool {
	return condition(w.RedisCluster(), v1.ConditionDegraded) == "True "+v1.ReasonPodStuck
}

func configure(w *redissim.World, name, value string) error {
	return w.Change(func(c *v1.RedisCluster) {
		c.Spec.Config = map[string]v1.ConfigValue{name: v1.ConfigValue(value)}
	})
}

func setPassword(w *redissim.World, to string) error {
	s := w.Secret(naming.AuthSecret(shop.Name))
	w.Forgive(s)
	return w.Store.Edit(s, func(o client.Object) {
		if secret, ok := o.(*corev1.Secret); ok {
			secret.Data = map[string][]byte{"password": []byte(to)}
		}
	})
}

func allPodsAway(w *redissim.World) error {
	for i := range 3 {
		if err := w.ForcePodAway(fmt.Sprintf("shop-%d", i)); err != nil {
			return err
		}
	}
	return nil
}

func remake(w *redissim.World) error {
	old := w.RedisCluster()
	key, err := w.Store.Key(old)
	if err != nil {
		return err
	}
	w.Store.Remove(key)
	again := wantedCluster(3)
	again.Annotations = map[string]string{"made": "again"}
	return w.Create(again)
}

// servesFrom says whether a member of at least that ordinal is primary.
func servesFrom(ordinal int) func(w *redissim.World) bool {
	return func(w *redissim.World) bool {
		is, err := naming.Ordinal(shop.Name, w.Serving())
		return serves(w) && err == nil && is >= ordinal
	}
}

// inEpoch says whether the primary has changed that often.
func inEpoch(epoch int64) func(w *redissim.World) bool {
	return func(w *redissim.World) bool { return w.RedisCluster().Status.Epoch >= epoch }
}

func everyMember(is func(m redissim.Member) bool) func(w *redissim.World) bool {
	return func(w *redissim.World) bool {
		return !slices.ContainsFunc(w.Members(), func(m redissim.Member) bool { return !is(m) })
	}
}

func accepts(password string) func(m redissim.Member) bool {
	return func(m redissim.Member) bool { return slices.Contains(m.Passwords, credentials.Hash(password)) }
}
