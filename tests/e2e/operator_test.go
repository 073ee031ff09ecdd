package e2e_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

// leaseGap bounds a failover that a new leader makes: the lease of 15 s has to run out first.
const leaseGap = 30 * time.Second

// Serial: these specs disturb the operator, which all clusters share.
var _ = Describe("The operator", Serial, Ordered, ContinueOnFailure, func() {
	var s *scene
	BeforeAll(func(ctx SpecContext) { s = newScene(ctx, "operator") }, NodeTimeout(untilSettled))
	AfterEach(func(ctx SpecContext) {
		Expect(s.Lab.ScaleManager(ctx, lab.ManagerReplicas)).To(Succeed())
	}, NodeTimeout(untilSettled))

	It("is killed together with the primary, and its successor fails over", func(ctx SpecContext) {
		s.settle(ctx)
		primary, leader := s.primary(ctx), s.leader(ctx)
		t := s.load(ctx, trial.Options{})
		at := t.Mark("operator and primary are killed")
		manager, err := env().kit.Manager(leader)
		made(err)
		Expect(manager.Kill(ctx)).To(Succeed())
		s.killServer(ctx, primary)
		s.flows(ctx, t)
		s.wantRole(ctx, primaryMoves, primary.Name)
		s.settle(ctx)
		gap := t.Gap(at)
		s.judge(ctx, t, at)
		Expect(gap.Accepted.Length()).To(BeNumerically("<", leaseGap))
	}, SpecTimeout(specLimit))

	for _, delay := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond} {
		It("is killed "+delay.String()+" after the primary, in the middle of the failover", func(ctx SpecContext) {
			s.settle(ctx)
			primary, leader := s.primary(ctx), s.leader(ctx)
			manager, err := env().kit.Manager(leader)
			made(err)
			t := s.load(ctx, trial.Options{})
			at := t.Mark("the primary is killed, the operator %s later", delay)
			s.killServer(ctx, primary)
			time.Sleep(delay) // The moment within the failover is what is tested.
			Expect(manager.Kill(ctx)).To(Succeed())
			s.flows(ctx, t)
			s.settle(ctx)
			gap := t.Gap(at)
			s.judge(ctx, t, at)
			Expect(gap.Accepted.Length()).To(BeNumerically("<", leaseGap))
		}, SpecTimeout(specLimit))
	}

	It("is away for a minute, and no client notices", func(ctx SpecContext) {
		s.settle(ctx)
		epoch := s.get(ctx).Status.Epoch
		pods := s.pods(ctx)
		t := s.load(ctx, trial.Options{})
		Expect(s.Lab.ScaleManager(ctx, 0)).To(Succeed())
		at := t.Mark("the operator is away")
		hold(ctx, t, at+time.Minute)
		Expect(s.Lab.ScaleManager(ctx, lab.ManagerReplicas)).To(Succeed())
		s.settle(ctx)
		s.flows(ctx, t)
		s.wantSame(ctx, pods)
		s.waitFor(ctx, untilSettled, "in the same epoch", lab.EpochIs(epoch))
		s.judge(ctx, t, at)
		counts := t.History.Counts()
		Expect(counts.Failed+counts.Unknown).To(BeZero(), "a client's operation failed while the operator was away")
	}, SpecTimeout(specLimit))
})

func (s *scene) leader(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var leader *corev1.Pod
	s.waitUntil(ctx, leaseGap, "a pod of the operator leads", func(ctx context.Context) error {
		var err error
		leader, err = s.Lab.Leader(ctx)
		return err
	})
	return leader
}
