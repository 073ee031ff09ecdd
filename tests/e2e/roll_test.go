package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/events"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var _ = Describe("Rolling changes under load", Ordered, ContinueOnFailure, func() {
	var s *scene
	BeforeAll(func(ctx SpecContext) { s = newScene(ctx, "roll") }, NodeTimeout(untilSettled))

	It("restarts replicas first and the primary last for new resources, each with a reason", func(ctx SpecContext) {
		s.roll(ctx, "memory", func(rc *dbv1.RedisCluster) {
			rc.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("320Mi")}
		})
	}, SpecTimeout(specLimit))

	It("restarts members for a parameter that Redis reads only at its start", func(ctx SpecContext) {
		s.roll(ctx, "databases", withConfig("databases", "20"))
		s.wantParameter(ctx, "databases", "20")
	}, SpecTimeout(specLimit))

	It("stops after one member with an image that does not exist, and heals when it is taken back", func(ctx SpecContext) {
		s.settle(ctx)
		before := s.pods(ctx)
		t := s.load(ctx, trial.Options{})
		at := t.Mark("bad image")
		s.change(ctx, func(rc *dbv1.RedisCluster) { rc.Spec.Image = "redis:no-such-version" })
		s.waitFor(ctx, untilSettled, "Degraded by a stuck pod", lab.Reason(dbv1.ConditionDegraded, dbv1.ReasonPodStuck))
		s.flows(ctx, t)
		// It must not go on to a second member, however long one waits.
		Consistently(func() int { return countReplaced(before, s.pods(ctx)) }).
			WithTimeout(10 * time.Second).WithPolling(time.Second).Should(Equal(1))

		t.Mark("image taken back")
		s.change(ctx, func(rc *dbv1.RedisCluster) { rc.Spec.Image = "" })
		s.settle(ctx)
		s.flows(ctx, t)
		s.judge(ctx, t, at)
	}, SpecTimeout(specLimit))
})

// roll changes the spec under load and wants an ordered restart whose reason names a word.
func (s *scene) roll(ctx context.Context, word string, change lab.Change) {
	GinkgoHelper()
	s.settle(ctx)
	first := s.primary(ctx).Name
	started := time.Now()
	watch := s.watchRoll(ctx)
	t := s.load(ctx, trial.Options{})
	at := t.Mark("roll for %s", word)
	s.change(ctx, change)
	s.waitFor(ctx, untilSettled, "Progressing", lab.Condition(dbv1.ConditionUpToDate, metav1.ConditionFalse))
	s.settle(ctx)
	s.flows(ctx, t)
	order, fewest := watch()
	gap := t.Gap(at)
	s.judge(ctx, t, at)

	Expect(order).To(HaveLen(3), "members restarted, in this order: %v", order)
	Expect(order[len(order)-1]).To(Equal(first), "the primary goes last; the order was %v", order)
	Expect(fewest).To(BeNumerically(">=", 2), "never a second member down")
	Expect(gap.Confirmed.Length()).To(BeNumerically("<", 2*time.Second), "a replica in step was missing")
	for _, pod := range order {
		Expect(s.restartReason(ctx, pod, started)).To(ContainSubstring(word))
	}
}

// rollWatch notes in which order the pods are replaced and how few were up at the worst moment. A member
// is up while its server's container runs and its pod is not being deleted. Kubernetes' readiness is
// too slow to count with: the kubelet looks every other second.
type rollWatch struct {
	uids   map[string]types.UID
	order  []string
	fewest int
}

func (w *rollWatch) look(pods []corev1.Pod) {
	up := 0
	for _, pod := range pods {
		if w.uids[pod.Name] != pod.UID {
			w.uids[pod.Name] = pod.UID
			w.order = append(w.order, pod.Name)
		}
		if pod.DeletionTimestamp == nil && isRunning(&pod) {
			up++
		}
	}
	w.fewest = min(w.fewest, up)
}

func isRunning(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running == nil {
			return false
		}
	}
	return len(pod.Status.ContainerStatuses) > 0
}

// watchRoll looks at the pods until done is called.
func (s *scene) watchRoll(ctx context.Context) (done func() ([]string, int)) {
	ctx, cancel := context.WithCancel(ctx)
	pods := s.pods(ctx)
	w := &rollWatch{uids: map[string]types.UID{}, fewest: len(pods)}
	for _, pod := range pods {
		w.uids[pod.Name] = pod.UID
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			if pods, err := s.Pods(ctx); err == nil {
				w.look(pods)
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
	return func() ([]string, int) {
		cancel()
		watching.Wait()
		return w.order, w.fewest
	}
}

// restartReason is the operator's reason for the restart of a member since a time.
func (s *scene) restartReason(ctx context.Context, pod string, since time.Time) (string, error) {
	list := &corev1.EventList{}
	if err := s.Lab.Client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return "", err
	}
	for _, e := range list.Items {
		recent := e.EventTime.After(since) || e.LastTimestamp.After(since) || e.CreationTimestamp.After(since.Add(-time.Second))
		if e.Reason == events.MemberRestart.Reason() && recent && strings.Contains(e.Message, pod) {
			return e.Message, nil
		}
	}
	return "", fmt.Errorf("no event %s speaks of %s", events.MemberRestart.Reason(), pod)
}

func countReplaced(before, now []corev1.Pod) int {
	old := map[string]bool{}
	for _, pod := range before {
		old[string(pod.UID)] = true
	}
	replaced := 0
	for _, pod := range now {
		if !old[string(pod.UID)] {
			replaced++
		}
	}
	return replaced
}
