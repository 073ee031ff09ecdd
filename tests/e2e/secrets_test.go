package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/process"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("Secrets", func() {
	It("appear in no log, event, object, argument or environment through a life of a cluster", func(ctx SpecContext) {
		const canary = "canary-c0ffee-4711-password"
		s := createSecretScene(ctx, canary)
		t := s.load(ctx, trial.Options{})
		at := t.Mark("a life")
		primary := s.primary(ctx)
		s.killServer(ctx, primary)
		s.flows(ctx, t)
		s.change(ctx, withConfig("maxmemory-policy", "no-such-policy"))
		s.waitFor(ctx, untilAvailable, "ConfigRejected", lab.Reason(dbv1.ConditionDegraded, dbv1.ReasonConfigRejected))
		s.change(ctx, func(rc *dbv1.RedisCluster) { rc.Spec.Config = nil })
		s.settle(ctx)
		s.judge(ctx, t, at)

		words := append(s.internalSecrets(ctx), canary)
		places := s.places(ctx)
		Expect(len(places)).To(BeNumerically(">", 10), "too little was looked at")
		for _, word := range words {
			for place, text := range places {
				for _, form := range []string{word, base64.StdEncoding.EncodeToString([]byte(word))} {
					Expect(strings.Contains(text, form)).To(BeFalse(), "a secret is in %s", place)
				}
			}
		}
	}, SpecTimeout(specLimit))
})

func createSecretScene(ctx context.Context, password string) *scene {
	GinkgoHelper()
	const name = "given"
	s := createScene(ctx, "secret", func(rc *dbv1.RedisCluster) { rc.Spec.Auth.SecretName = name })
	// The Secret comes after the cluster, as with a GitOps tool that orders nothing.
	Expect(s.Lab.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		StringData: map[string]string{naming.KeyPassword: password},
	})).To(Succeed())
	s.settle(ctx)
	return s
}

// internalSecrets are the passwords that the operator made for itself. Digests and certificates are no secrets.
func (s *scene) internalSecrets(ctx context.Context) []string {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(s.Lab.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: naming.InternalSecret(s.Name)}, secret)).To(Succeed())
	var words []string
	for key, value := range secret.Data {
		if strings.Contains(key, "replication") && len(value) > 0 {
			words = append(words, string(value))
		}
	}
	Expect(words).NotTo(BeEmpty(), "the replication password was not found")
	return words
}

// places are all texts in which no secret may be.
func (s *scene) places(ctx context.Context) map[string]string {
	GinkgoHelper()
	places := map[string]string{}
	for _, namespace := range []string{s.Namespace, lab.ManagerNamespace} {
		logs, err := s.Lab.Logs(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		for name, text := range logs {
			places["the log of "+name] = string(text)
		}
	}
	for kind, list := range map[string]client.ObjectList{
		"RedisClusters": &dbv1.RedisClusterList{}, "pods": &corev1.PodList{}, "events": &corev1.EventList{},
		"ConfigMaps": &corev1.ConfigMapList{}, "Services": &corev1.ServiceList{}, "StatefulSets": &appsv1.StatefulSetList{},
	} {
		Expect(s.Lab.Client.List(ctx, list, client.InNamespace(s.Namespace))).To(Succeed())
		text, err := json.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		places["the "+kind] = string(text)
	}
	managers, err := s.Lab.ManagerPods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range append(s.pods(ctx), managers...) {
		processes, err := process.Find(string(pod.UID))
		Expect(err).NotTo(HaveOccurred())
		for _, p := range processes {
			words, err := p.Words()
			Expect(err).NotTo(HaveOccurred())
			places["the arguments and environment of "+p.Name+" in "+pod.Name] = words
		}
	}
	return places
}
