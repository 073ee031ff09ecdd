package e2e_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/history"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/load"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("A new password", func() {
	It("replaces the old one without a failed operation of a client that holds both", func(ctx SpecContext) {
		const before, after = "first-password-of-the-application", "second-password-of-the-application"
		const grace = 10 * time.Second
		s := newScene(ctx, "password", func(rc *dbv1.RedisCluster) {
			rc.Spec.Auth.OldPasswordGracePeriod = &metav1.Duration{Duration: grace}
		})
		s.setPassword(ctx, before)
		s.untilPasswords(ctx, []string{before}, nil)

		t := s.load(ctx, trial.Options{Passwords: []string{after, before}, Reconnect: 10})
		at := t.Mark("password changed")
		s.setPassword(ctx, after)
		By("both are accepted")
		s.untilPasswords(ctx, []string{before, after}, nil)
		By("the old one is retired after the grace period")
		s.untilPasswords(ctx, []string{after}, []string{before})
		s.flows(ctx, t)
		s.judge(ctx, t, at)
		for _, e := range t.History.Events() {
			if e.Kind != history.KindMark {
				Expect(e.Outcome).To(Equal(history.OK), "a client's operation failed: %+v", e)
			}
		}
	}, SpecTimeout(specLimit))

	It("that is unusable is named in the status, and the last one stays valid", func(ctx SpecContext) {
		s := newScene(ctx, "password")
		valid, err := s.Password(ctx)
		Expect(err).NotTo(HaveOccurred())
		s.setPassword(ctx, "")
		s.waitFor(ctx, untilAvailable, "SecretInvalid", lab.Reason(dbv1.ConditionDegraded, dbv1.ReasonSecretInvalid))
		s.untilPasswords(ctx, []string{valid}, nil)
		s.setPassword(ctx, valid)
		s.settle(ctx)
	}, SpecTimeout(specLimit))
})

// setPassword writes the password into the cluster's Secret, as a user would.
func (s *scene) setPassword(ctx context.Context, password string) {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(s.Lab.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: naming.AuthSecret(s.Name)}, secret)).To(Succeed())
	before := secret.DeepCopy()
	secret.Data[naming.KeyPassword] = []byte(password)
	Expect(s.Lab.Client.Patch(ctx, secret, client.MergeFrom(before))).To(Succeed())
}

// untilPasswords waits until every member takes the valid passwords and refuses the retired ones.
func (s *scene) untilPasswords(ctx context.Context, valid, retired []string) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, untilFlowing)
	defer cancel()
	Expect(lab.Until(ctx, "every member knows the passwords", func(ctx context.Context) error {
		pods, err := s.Pods(ctx)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			for _, password := range valid {
				if err := signIn(ctx, pod, password); err != nil {
					return fmt.Errorf("%s refuses a valid password: %w", pod.Name, err)
				}
			}
			for _, password := range retired {
				if signIn(ctx, pod, password) == nil {
					return fmt.Errorf("%s takes a retired password", pod.Name)
				}
			}
		}
		return nil
	})).To(Succeed())
}

func signIn(ctx context.Context, pod corev1.Pod, password string) error {
	db := load.Open(load.Options{Address: lab.Address(pod.Status.PodIP), Passwords: []string{password}})
	defer func() { _ = db.Close() }()
	return db.Ping(ctx).Err()
}
