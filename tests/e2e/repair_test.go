package e2e_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/load"
)

// repairLimit bounds how long damage by a person stays.
const repairLimit = time.Minute

var _ = Describe("What a person breaks is repaired", Ordered, ContinueOnFailure, func() {
	var s *scene
	BeforeAll(func(ctx SpecContext) { s = newScene(ctx, "repair") }, NodeTimeout(untilSettled))

	for _, object := range []struct {
		name string
		make func() client.Object
	}{
		{"the primary Service", func() client.Object {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: naming.PrimaryService("repair")}}
		}},
		{"the headless Service", func() client.Object {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: naming.HeadlessService("repair")}}
		}},
		{"the disruption budget", func() client.Object {
			return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: naming.PodDisruptionBudget("repair")}}
		}},
	} {
		It("when "+object.name+" is deleted", func(ctx SpecContext) {
			victim := object.make()
			key := client.ObjectKey{Namespace: s.Namespace, Name: victim.GetName()}
			Expect(s.Lab.Client.Get(ctx, key, victim)).To(Succeed())
			uid := victim.GetUID()
			Expect(s.Lab.Client.Delete(ctx, victim)).To(Succeed())
			s.waitUntil(ctx, repairLimit, "it is made anew", func(ctx context.Context) error {
				now := object.make()
				if err := s.Lab.Client.Get(ctx, key, now); err != nil {
					return err
				}
				if now.GetUID() == uid || now.GetDeletionTimestamp() != nil {
					return fmt.Errorf("the old one is still there")
				}
				return nil
			})
			s.serves(ctx)
		}, SpecTimeout(specLimit))
	}

	It("when the primary's EndpointSlice is deleted", func(ctx SpecContext) {
		Expect(s.Lab.Client.DeleteAllOf(ctx, &discoveryv1.EndpointSlice{}, client.InNamespace(s.Namespace),
			client.MatchingLabels{naming.LabelServiceName: naming.PrimaryService(s.Name)})).To(Succeed())
		s.serves(ctx)
	}, SpecTimeout(specLimit))

	It("when the primary's EndpointSlice is led to a replica", func(ctx SpecContext) {
		primary, replica := s.primary(ctx), s.replicas(ctx)[0]
		list := &discoveryv1.EndpointSliceList{}
		Expect(s.Lab.Client.List(ctx, list, client.InNamespace(s.Namespace),
			client.MatchingLabels{naming.LabelServiceName: naming.PrimaryService(s.Name)})).To(Succeed())
		Expect(list.Items).To(HaveLen(1))
		slice := &list.Items[0]
		before := slice.DeepCopy()
		slice.Endpoints[0].Addresses = []string{replica.Status.PodIP}
		slice.Endpoints[0].TargetRef.Name, slice.Endpoints[0].TargetRef.UID = replica.Name, replica.UID
		Expect(s.Lab.Client.Patch(ctx, slice, client.MergeFrom(before))).To(Succeed())
		s.serves(ctx)
		Expect(s.primary(ctx).Name).To(Equal(primary.Name))
	}, SpecTimeout(specLimit))

	It("or refused, when the application's user asks a replica to be primary", func(ctx SpecContext) {
		primary, replica := s.primary(ctx), s.replicas(ctx)[0]
		password, err := s.Password(ctx)
		Expect(err).NotTo(HaveOccurred())
		db := load.Open(load.Options{Address: lab.Address(replica.Status.PodIP), Passwords: []string{password}})
		defer func() { _ = db.Close() }()
		for _, order := range [][]any{{"replicaof", "no", "one"}, {"failover"}, {"shutdown", "nosave"}, {"config", "set", "min-replicas-to-write", "0"}, {"acl", "list"}} {
			Expect(db.Do(ctx, order...).Err()).To(MatchError(ContainSubstring("NOPERM")), "%v", order)
		}
		s.settle(ctx)
		Expect(s.primary(ctx).Name).To(Equal(primary.Name))
	}, SpecTimeout(specLimit))
})

// serves waits until a write goes through the primary Service, at whatever address it has now.
func (s *scene) serves(ctx context.Context) {
	GinkgoHelper()
	s.waitUntil(ctx, repairLimit, "a write goes through the primary Service", func(ctx context.Context) error {
		if _, err := s.Primary(ctx); err != nil {
			return err
		}
		address, err := s.PrimaryAddress(ctx)
		if err != nil {
			return err
		}
		password, err := s.Password(ctx)
		if err != nil {
			return err
		}
		db := load.Open(load.Options{Address: address, Passwords: []string{password}})
		defer func() { _ = db.Close() }()
		return db.Set(ctx, "repaired", "yes", 0).Err()
	})
}

func (s *scene) waitUntil(ctx context.Context, limit time.Duration, what string, check func(context.Context) error) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	Expect(lab.Until(ctx, what, check)).To(Succeed())
}
