package e2e_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("A steady cluster", func() {
	It("causes no write to the API for a minute, idle and under load", func(ctx SpecContext) {
		const watched = 30 * time.Second
		s := newScene(ctx, "quiet")
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
