package e2e_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("A steady cluster", func() {
	It("causes no write to the API for a minute, idle and under load", func(ctx SpecContext) {
		const watched = 30 * time.Second
		s := newScene(ctx, "quiet")
		s.waitForReadyPods(ctx)
		By("idle")
		Expect(s.Lab.Writes(ctx, s.Namespace, watched)).To(BeEmpty())
		By("under load")
		t := s.load(ctx, trial.Options{})
		at := t.Mark("steady")
		Expect(s.Lab.Writes(ctx, s.Namespace, watched)).To(BeEmpty())
		s.judge(ctx, t, at)
	}, SpecTimeout(specLimit))

	It("would be seen writing: the watch of this suite notices a write", func(ctx SpecContext) {
		namespace, err := env().lab.NewNamespace(ctx, "watched")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(env().lab.DeleteNamespace(ctx, namespace)).To(Succeed()) })
		const watched = 3 * time.Second
		time.AfterFunc(watched/3, func() {
			defer GinkgoRecover()
			Expect(env().lab.Client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "written"}})).To(Succeed())
		})
		Expect(env().lab.Writes(ctx, namespace, watched)).To(ContainElement(
			Satisfy(func(w lab.Write) bool { return w.Kind == "ConfigMap" && w.Name == "written" && w.Verb == "ADDED" })))
	}, SpecTimeout(specLimit))
})

// waitForReadyPods waits until the kubelets have reported all pods as ready and the controllers of
// Kubernetes have counted them: these writes are not the operator's, and come once.
func (s *scene) waitForReadyPods(ctx context.Context) {
	GinkgoHelper()
	s.waitUntil(ctx, untilSettled, "Kubernetes counts all pods as ready", func(ctx context.Context) error {
		set, budget := &appsv1.StatefulSet{}, &policyv1.PodDisruptionBudget{}
		if err := s.Lab.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: naming.StatefulSet(s.Name)}, set); err != nil {
			return err
		}
		if err := s.Lab.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: naming.PodDisruptionBudget(s.Name)}, budget); err != nil {
			return err
		}
		if want := *set.Spec.Replicas; set.Status.ReadyReplicas != want || budget.Status.CurrentHealthy != want {
			return fmt.Errorf("%d are ready, and %d for the disruption budget", set.Status.ReadyReplicas, budget.Status.CurrentHealthy)
		}
		return nil
	})
}
