package e2e_test

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

// Bounds of what a spec waits for. They are wide: a figure is measured by hack/bench, not by a wait.
const (
	untilAvailable = 90 * time.Second
	untilSettled   = 3 * time.Minute
	untilFlowing   = time.Minute
	untilGone      = 2 * time.Minute
	// specLimit bounds a whole spec.
	specLimit = 8 * time.Minute
)

// afterFault is how many confirmed writes prove that a cluster serves again.
const afterFault = 200

// scene is a RedisCluster in a namespace of its own.
type scene struct{ *lab.Redis }

// newScene makes a cluster and waits until it has settled. It goes away at the end of the spec, or of the
// container when it is made in BeforeAll.
func newScene(ctx context.Context, name string, changes ...lab.Change) *scene {
	GinkgoHelper()
	s := createScene(ctx, name, changes...)
	s.settle(ctx)
	return s
}

func createScene(ctx context.Context, name string, changes ...lab.Change) *scene {
	GinkgoHelper()
	namespace, err := env().lab.NewNamespace(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(env().lab.DeleteNamespace(ctx, namespace)).To(Succeed())
	}, NodeTimeout(untilGone))
	redis, err := env().lab.NewRedis(ctx, types.NamespacedName{Namespace: namespace, Name: name}, changes...)
	Expect(err).NotTo(HaveOccurred())
	return &scene{redis}
}

// settle waits until nothing is left to do and nothing is lacking.
func (s *scene) settle(ctx context.Context) {
	GinkgoHelper()
	s.waitFor(ctx, untilSettled, "settled", lab.Settled())
}

func (s *scene) waitFor(ctx context.Context, limit time.Duration, what string, wants ...lab.Want) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	started := time.Now()
	Expect(s.WaitFor(ctx, what, wants...)).To(Succeed())
	GinkgoWriter.Printf("%s is %s after %s\n", s.Name, what, time.Since(started).Round(time.Millisecond))
}

func (s *scene) get(ctx context.Context) *dbv1.RedisCluster {
	GinkgoHelper()
	rc, err := s.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	return rc
}

func (s *scene) change(ctx context.Context, change lab.Change) {
	GinkgoHelper()
	Expect(s.Update(ctx, change)).To(Succeed())
}

func (s *scene) primary(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	pod, err := s.Primary(ctx)
	Expect(err).NotTo(HaveOccurred())
	return pod
}

func (s *scene) pods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	pods, err := s.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	return pods
}

// replicas are the pods that are not the primary.
func (s *scene) replicas(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	primary := s.primary(ctx)
	var replicas []corev1.Pod
	for _, pod := range s.pods(ctx) {
		if pod.Name != primary.Name {
			replicas = append(replicas, pod)
		}
	}
	return replicas
}

// load puts the cluster under load. The spec must end it with judge.
func (s *scene) load(ctx context.Context, o trial.Options) *trial.Trial {
	GinkgoHelper()
	t, err := trial.Begin(ctx, s.Redis, o)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(t.Abort) // Harmless after judge, and needed if the spec fails before.
	return t
}

// flows waits until the cluster takes writes again and replicas confirm them.
func (s *scene) flows(ctx context.Context, t *trial.Trial) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, untilFlowing)
	defer cancel()
	Expect(t.Flows(ctx, afterFault)).To(Succeed())
}

// judge ends the load and fails the spec if anything was violated. The gap since the mark is in the report.
func (s *scene) judge(ctx context.Context, t *trial.Trial, since time.Duration) {
	GinkgoHelper()
	gap := t.Gap(since)
	verdict, err := t.End(ctx)
	Expect(err).NotTo(HaveOccurred())
	line := fmt.Sprintf("no write accepted for %s, none confirmed for %s; %s; claims of two primaries: %v",
		gap.Accepted.Length().Round(time.Millisecond), gap.Confirmed.Length().Round(time.Millisecond),
		verdict.Data.Summary(), verdict.Primaries.Claims())
	AddReportEntry(line, ReportEntryVisibilityNever)
	GinkgoWriter.Println(line)
	if err := verdict.Err(); err != nil {
		path, saveErr := t.Save(env().artifacts, slug(CurrentSpecReport().FullText()))
		Fail(fmt.Sprintf("%v\nthe history is in %s (%v)", err, filepath.Clean(path), saveErr))
	}
}

// killServer kills the database server of a pod.
func (s *scene) killServer(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	made(env().kit.KillServer(ctx, pod))
}
