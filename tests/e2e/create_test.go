package e2e_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/load"
)

var _ = Describe("Creation", func() {
	It("is Available only once a write is confirmed through the Service", func(ctx SpecContext) {
		s := createScene(ctx, "fresh")
		s.waitFor(ctx, untilAvailable, "Available", lab.Available())

		address, err := s.PrimaryAddress(ctx)
		Expect(err).NotTo(HaveOccurred())
		password, err := s.Password(ctx)
		Expect(err).NotTo(HaveOccurred())
		db := load.Open(load.Options{Address: address, Passwords: []string{password}})
		defer func() { _ = db.Close() }()
		conn := db.Conn()
		defer func() { _ = conn.Close() }()
		// No retry: Available was true a moment ago.
		Expect(conn.Set(ctx, "first", "write", 0).Err()).To(Succeed())
		Expect(conn.Wait(ctx, 1, time.Second).Val()).To(BeNumerically(">=", 1), "no replica confirmed the first write")
	}, SpecTimeout(specLimit))

	It("settles with one primary, routed replicas and spread members", func(ctx SpecContext) {
		s := newScene(ctx, "fresh")
		replicas, err := s.Routed(ctx, naming.ReplicaService(s.Name))
		Expect(err).NotTo(HaveOccurred())
		primary := s.primary(ctx)
		Expect(replicas).To(HaveLen(2))
		Expect(replicas).NotTo(ContainElement(primary.Name))
		Expect(s.get(ctx).Status.Primary).To(Equal(primary.Name))

		nodes := map[string]bool{}
		for _, pod := range s.pods(ctx) {
			nodes[pod.Spec.NodeName] = true
			Expect(pod.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
		}
		Expect(len(nodes)).To(BeNumerically(">=", 2), "the members share a node although others are free")
		set := &appsv1.StatefulSet{}
		Expect(s.Lab.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: naming.StatefulSet(s.Name)}, set)).To(Succeed())
		Expect(set.Spec.UpdateStrategy.Type).To(Equal(appsv1.OnDeleteStatefulSetStrategyType))
	}, SpecTimeout(specLimit))
})
