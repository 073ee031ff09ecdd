package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/load"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("Configuration", Ordered, ContinueOnFailure, func() {
	var s *scene
	BeforeAll(func(ctx SpecContext) { s = newScene(ctx, "config") }, NodeTimeout(untilSettled))

	It("takes effect live on every member, without a restart", func(ctx SpecContext) {
		before, epoch := s.pods(ctx), s.get(ctx).Status.Epoch
		t := s.load(ctx, trial.Options{})
		at := t.Mark("live change")
		s.change(ctx, withConfig("maxmemory-policy", "volatile-ttl"))
		s.settle(ctx)
		s.wantParameter(ctx, "maxmemory-policy", "volatile-ttl")
		s.change(ctx, func(rc *dbv1.RedisCluster) { delete(rc.Spec.Config, "maxmemory-policy") })
		s.settle(ctx)
		s.wantParameter(ctx, "maxmemory-policy", "noeviction")
		s.wantSame(ctx, before)
		Expect(s.get(ctx)).To(Satisfy(func(rc *dbv1.RedisCluster) bool { return rc.Status.Epoch == epoch }))
		s.flows(ctx, t)
		s.judge(ctx, t, at)
		Expect(t.History.Counts().Failed+t.History.Counts().Unknown).To(BeZero(), "a live change failed a client's operation")
	}, SpecTimeout(specLimit))

	It("is refused with the server's words, changes nothing, and heals when it is taken back", func(ctx SpecContext) {
		s.settle(ctx)
		before := s.pods(ctx)
		t := s.load(ctx, trial.Options{})
		at := t.Mark("refused parameter")
		s.change(ctx, func(rc *dbv1.RedisCluster) {
			withConfig("maxmemory-policy", "no-such-policy")(rc)
			withConfig("slowlog-max-len", "77")(rc)
		})
		s.waitFor(ctx, untilAvailable, "ConfigRejected", lab.Reason(dbv1.ConditionDegraded, dbv1.ReasonConfigRejected))
		s.flows(ctx, t)
		s.wantParameter(ctx, "slowlog-max-len", "128") // All or nothing.
		s.change(ctx, func(rc *dbv1.RedisCluster) { rc.Spec.Config = nil })
		s.settle(ctx)
		s.wantSame(ctx, before)
		s.judge(ctx, t, at)
	}, SpecTimeout(specLimit))

	It("cannot set what the operator owns", func(ctx SpecContext) {
		err := s.Update(ctx, withConfig("replicaof", "10.0.0.1 6379"))
		Expect(err).To(MatchError(ContainSubstring("parameter that the operator owns")))
	}, SpecTimeout(specLimit))
})

func withConfig(name string, value dbv1.ConfigValue) lab.Change {
	return func(rc *dbv1.RedisCluster) {
		if rc.Spec.Config == nil {
			rc.Spec.Config = map[string]dbv1.ConfigValue{}
		}
		rc.Spec.Config[name] = value
	}
}

// wantParameter asks every member's server.
func (s *scene) wantParameter(ctx context.Context, name, value string) {
	GinkgoHelper()
	password, err := s.Password(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range s.pods(ctx) {
		db := load.Open(load.Options{Address: lab.Address(pod.Status.PodIP), Passwords: []string{password}})
		got, err := db.ConfigGet(ctx, name).Result()
		_ = db.Close()
		Expect(err).NotTo(HaveOccurred())
		Expect(got).To(HaveKeyWithValue(name, value), "on %s", pod.Name)
	}
}

// wantSame wants the very same pods, with containers that never restarted since.
func (s *scene) wantSame(ctx context.Context, before []corev1.Pod) {
	GinkgoHelper()
	now := s.pods(ctx)
	Expect(now).To(HaveLen(len(before)))
	for i, pod := range now {
		Expect(pod.UID).To(Equal(before[i].UID), "%s was replaced", pod.Name)
		Expect(restarts(pod)).To(Equal(restarts(before[i])), "%s was restarted", pod.Name)
	}
}

func restarts(pod corev1.Pod) int32 {
	var n int32
	for _, c := range pod.Status.ContainerStatuses {
		n += c.RestartCount
	}
	return n
}
