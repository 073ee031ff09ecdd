package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("Scaling under load", func() {
	It("goes from three members to five and to two, with the primary among those that leave", func(ctx SpecContext) {
		s := newScene(ctx, "scale")
		t := s.load(ctx, trial.Options{})
		at := t.Mark("scale out")
		s.change(ctx, withReplicas(5))
		s.settle(ctx)
		Expect(s.pods(ctx)).To(HaveLen(5))

		s.movePrimaryTo(ctx, t, 2)
		t.Mark("scale in, with the primary %s", s.primary(ctx).Name)
		s.change(ctx, withReplicas(2))
		s.settle(ctx)
		Expect(s.pods(ctx)).To(HaveLen(2))
		Expect(naming.Ordinal(s.Name, s.primary(ctx).Name)).To(BeNumerically("<", 2))
		s.wantClaims(ctx, 2)
		s.flows(ctx, t)
		s.judge(ctx, t, at)
	}, SpecTimeout(specLimit))
})

func withReplicas(n int32) lab.Change {
	return func(rc *dbv1.RedisCluster) { rc.Spec.Replicas = n }
}

// movePrimaryTo makes a member of at least this ordinal primary: as long as it is an earlier one, it
// stops the other earlier members and then the primary itself.
func (s *scene) movePrimaryTo(ctx context.Context, t *trial.Trial, ordinal int) {
	GinkgoHelper()
	const attempts = 5
	for range attempts {
		primary := s.primary(ctx)
		if at, err := naming.Ordinal(s.Name, primary.Name); err == nil && at >= ordinal {
			return
		}
		t.Mark("move the primary off %s", primary.Name)
		for _, pod := range s.pods(ctx)[:ordinal] {
			if pod.Name != primary.Name {
				Expect(env().kit.DeletePod(ctx, &pod)).To(Succeed())
			}
		}
		Expect(env().kit.DeletePod(ctx, primary)).To(Succeed())
		s.settle(ctx)
		s.flows(ctx, t)
		s.waitFor(ctx, untilSettled, "under another primary", lab.PrimaryIsNot(primary.Name))
		s.settle(ctx)
	}
	Fail("the primary could not be moved to a later member")
}

// wantClaims waits until so many volume claims are left.
func (s *scene) wantClaims(ctx context.Context, n int) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, untilGone)
	defer cancel()
	Expect(lab.Until(ctx, fmt.Sprintf("%d volume claims are left", n), func(ctx context.Context) error {
		list := &corev1.PersistentVolumeClaimList{}
		if err := s.Lab.Client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
			return err
		}
		if len(list.Items) != n {
			return fmt.Errorf("%d are there", len(list.Items))
		}
		return nil
	})).To(Succeed())
}
