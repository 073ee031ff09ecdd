package e2e_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("A cluster of a single member", func() {
	It("serves, and its server comes back with its data after it was killed", func(ctx SpecContext) {
		s := newScene(ctx, "single", withReplicas(1))
		s.writeSettled(ctx)
		t := s.load(ctx, trial.Options{WithoutConfirmation: true})
		at := t.Mark("the only server is killed")
		s.killServer(ctx, s.primary(ctx))
		accept, cancel := context.WithTimeout(ctx, untilFlowing)
		defer cancel()
		Expect(t.Accepts(accept, afterFault)).To(Succeed())
		s.settle(ctx)
		s.judge(ctx, t, at)
		Expect(s.read(ctx, "settled")).To(Equal("before the kill"))
	}, SpecTimeout(specLimit))
})

// writeSettled writes what must survive: older than the second that the append-only file may lose.
func (s *scene) writeSettled(ctx context.Context) {
	GinkgoHelper()
	s.set(ctx, "settled", "before the kill")
	time.Sleep(1500 * time.Millisecond) // The server writes its append-only file to the disk each second.
}

// Only memory: what a server held is gone when it restarts, so that only its replicas have the data.
var _ = Describe("An ephemeral cluster", Serial, Ordered, ContinueOnFailure, func() {
	var s *scene
	BeforeAll(func(ctx SpecContext) { s = newScene(ctx, "memory", ephemeral) }, NodeTimeout(untilSettled))

	It("never lets a primary that restarted empty wipe its replicas", func(ctx SpecContext) {
		s.settle(ctx)
		primary := s.primary(ctx)
		t := s.load(ctx, trial.Options{})
		at := t.Mark("the primary's server is killed and comes back empty")
		s.killServer(ctx, primary)
		s.flows(ctx, t)
		s.wantRole(ctx, primaryMoves, primary.Name)
		s.settle(ctx)
		s.judge(ctx, t, at)
	}, SpecTimeout(specLimit))

	It("does so even if the primary restarts empty while the operator is away", func(ctx SpecContext) {
		s.settle(ctx)
		primary := s.primary(ctx)
		t := s.load(ctx, trial.Options{})
		DeferCleanup(func(ctx SpecContext) {
			Expect(s.Lab.ScaleManager(ctx, lab.ManagerReplicas)).To(Succeed())
		}, NodeTimeout(untilSettled))
		Expect(s.Lab.ScaleManager(ctx, 0)).To(Succeed())
		at := t.Mark("the primary's server is killed without an operator")
		s.killServer(ctx, primary)
		hold(ctx, t, at+2*detection)
		Expect(s.Lab.ScaleManager(ctx, lab.ManagerReplicas)).To(Succeed())
		s.flows(ctx, t)
		s.settle(ctx)
		s.judge(ctx, t, at)
	}, SpecTimeout(specLimit))

	It("keeps its data when the primary's pod is deleted by force", func(ctx SpecContext) {
		s.settle(ctx)
		primary := s.primary(ctx)
		t := s.load(ctx, trial.Options{})
		at := t.Mark("the primary's pod is deleted by force")
		Expect(env().kit.DeletePodByForce(ctx, primary)).To(Succeed())
		s.flows(ctx, t)
		s.settle(ctx)
		s.judge(ctx, t, at)
	}, SpecTimeout(specLimit))
})

func ephemeral(rc *dbv1.RedisCluster) {
	rc.Spec.Storage = dbv1.StorageSpec{Ephemeral: true}
}
