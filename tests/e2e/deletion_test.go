package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/load"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("Deletion", func() {
	It("keeps the volumes with Retain, and a cluster of the same name takes them up", func(ctx SpecContext) {
		s := newScene(ctx, "keep", withRetention(dbv1.RetentionRetain))
		claims := s.claims(ctx)
		s.write(ctx, "kept", "value")
		s.remove(ctx)
		s.waitForNoPods(ctx)
		Expect(s.claims(ctx)).To(Equal(claims), "the volume claims must be the very same")

		s.again(ctx, withRetention(dbv1.RetentionRetain))
		s.settle(ctx)
		Expect(s.claims(ctx)).To(Equal(claims))
		Expect(s.read(ctx, "kept")).To(Equal("value"))
	}, SpecTimeout(specLimit))

	It("removes the volumes with Delete", func(ctx SpecContext) {
		s := newScene(ctx, "drop")
		s.remove(ctx)
		s.waitForNoPods(ctx)
		s.wantClaims(ctx, 0)
	}, SpecTimeout(specLimit))

	It("does not harm a cluster of the same name that is made again at once", func(ctx SpecContext) {
		s := newScene(ctx, "again")
		s.remove(ctx)
		s.again(ctx)
		s.settle(ctx)
		t := s.load(ctx, trial.Options{})
		at := t.Mark("made again")
		epoch, pods := s.get(ctx).Status.Epoch, s.pods(ctx)
		s.flows(ctx, t)
		s.settle(ctx)
		s.wantSame(ctx, pods)
		Expect(s.get(ctx).Status.Epoch).To(Equal(epoch))
		s.judge(ctx, t, at)
	}, SpecTimeout(specLimit))
})

func withRetention(p dbv1.RetentionPolicy) lab.Change {
	return func(rc *dbv1.RedisCluster) { rc.Spec.Storage.Retention = p }
}

func (s *scene) remove(ctx context.Context) {
	GinkgoHelper()
	Expect(s.Lab.Client.Delete(ctx, s.get(ctx))).To(Succeed())
}

// again makes the cluster again as soon as its name is free.
func (s *scene) again(ctx context.Context, changes ...lab.Change) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, untilGone)
	defer cancel()
	Expect(lab.Until(ctx, "the name is free", func(ctx context.Context) error {
		_, err := s.Lab.NewRedis(ctx, s.NamespacedName, changes...)
		return err
	})).To(Succeed())
}

func (s *scene) waitForNoPods(ctx context.Context) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, untilGone)
	defer cancel()
	Expect(lab.Until(ctx, "no pod is left", func(ctx context.Context) error {
		pods, err := s.Pods(ctx)
		if err != nil {
			return err
		}
		if len(pods) > 0 {
			return fmt.Errorf("%d pods are left", len(pods))
		}
		return nil
	})).To(Succeed())
}

// claims are the UIDs of the volume claims by name.
func (s *scene) claims(ctx context.Context) map[string]types.UID {
	GinkgoHelper()
	list := &corev1.PersistentVolumeClaimList{}
	Expect(s.Lab.Client.List(ctx, list, client.InNamespace(s.Namespace))).To(Succeed())
	claims := map[string]types.UID{}
	for _, claim := range list.Items {
		Expect(claim.DeletionTimestamp).To(BeNil(), "%s is being deleted", claim.Name)
		claims[claim.Name] = claim.UID
	}
	return claims
}

func (s *scene) write(ctx context.Context, key, value string) {
	GinkgoHelper()
	s.session(ctx, func(o load.Options) {
		db := load.Open(o)
		defer func() { _ = db.Close() }()
		conn := db.Conn()
		defer func() { _ = conn.Close() }()
		Expect(conn.Set(ctx, key, value, 0).Err()).To(Succeed())
		// On disk of the primary and of two replicas, since all of them are about to stop.
		local, replicas, err := waitOnDisk(ctx, conn)
		Expect(err).NotTo(HaveOccurred())
		Expect([]int64{local, replicas}).To(Equal([]int64{1, 2}))
	})
}

// set writes without waiting for anything.
func (s *scene) set(ctx context.Context, key, value string) {
	GinkgoHelper()
	s.session(ctx, func(o load.Options) {
		db := load.Open(o)
		defer func() { _ = db.Close() }()
		Expect(db.Set(ctx, key, value, 0).Err()).To(Succeed())
	})
}

func (s *scene) read(ctx context.Context, key string) (value string) {
	GinkgoHelper()
	s.session(ctx, func(o load.Options) {
		db := load.Open(o)
		defer func() { _ = db.Close() }()
		var err error
		value, err = db.Get(ctx, key).Result()
		Expect(err).NotTo(HaveOccurred())
	})
	return value
}

// session gives what a client of the primary Service needs.
func (s *scene) session(ctx context.Context, use func(load.Options)) {
	GinkgoHelper()
	address, err := s.PrimaryAddress(ctx)
	Expect(err).NotTo(HaveOccurred())
	password, err := s.Password(ctx)
	Expect(err).NotTo(HaveOccurred())
	use(load.Options{Address: address, Passwords: []string{password}})
}
