package e2e_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("A drain of the primary's node", func() {
	It("hands the primary over, lets the eviction pass, and never lets a second member be evicted", func(ctx SpecContext) {
		s := newScene(ctx, "drain")
		s.waitForReadyPods(ctx) // The budget counts by the kubelets' readiness.
		primary := s.primary(ctx)
		other := s.replicas(ctx)[0]
		cordon(ctx, s, primary.Spec.NodeName)
		t := s.load(ctx, trial.Options{})
		at := t.Mark("%s is evicted", primary.Name)
		Expect(s.evict(ctx, primary)).To(Succeed())
		s.flows(ctx, t)
		s.wantRole(ctx, primaryMoves, primary.Name)

		By("a second eviction meets the disruption budget")
		Eventually(func(ctx context.Context) error { return s.evict(ctx, &other) }).WithContext(ctx).
			WithTimeout(30 * time.Second).WithPolling(time.Second).Should(MatchError(ContainSubstring("disruption budget")))

		uncordon(ctx, s, primary.Spec.NodeName)
		s.settle(ctx)
		gap := t.Gap(at)
		s.judge(ctx, t, at)
		Expect(gap.Accepted.Length()).To(BeNumerically("<", time.Second))
	}, SpecTimeout(specLimit))
})

func (s *scene) evict(ctx context.Context, pod *corev1.Pod) error {
	return s.Lab.Clientset.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
	})
}

func cordon(ctx context.Context, s *scene, node string) {
	GinkgoHelper()
	setUnschedulable(ctx, s.Lab, node, true)
	DeferCleanup(func(ctx SpecContext) { uncordon(ctx, s, node) })
}

func uncordon(ctx context.Context, s *scene, node string) {
	GinkgoHelper()
	setUnschedulable(ctx, s.Lab, node, false)
}

func setUnschedulable(ctx context.Context, l *lab.Lab, name string, unschedulable bool) {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(l.Client.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	before := node.DeepCopy()
	node.Spec.Unschedulable = unschedulable
	Expect(l.Client.Patch(ctx, node, client.MergeFrom(before))).To(Succeed())
}
