package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/fault"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

// detection is the default of spec.failover.detection, which the scenes use.
const detection = 3 * time.Second

// outcome is what a fault must do to the role of primary.
type outcome string

const (
	primaryMoves outcome = "the primary moves"
	primaryStays outcome = "the primary stays"
)

// trouble is something that happens to a cluster under load.
type trouble struct {
	name string
	// inject makes the fault and returns what takes it back; nil: nothing has to be.
	inject func(context.Context, *scene, *corev1.Pod) (fault.Heal, error)
	want   outcome
	// gap bounds the time without an accepted write.
	gap time.Duration
	// holds is how long the fault stays at least.
	holds time.Duration
	// restarted is how many servers may need a full synchronisation afterwards.
	restarted int64
	// core faults are made on every engine.
	core bool
}

func troubles() []trouble {
	return []trouble{
		{name: "the primary's server is killed", inject: killServer, want: primaryMoves, gap: time.Second, restarted: 1, core: true},
		{name: "a replica's server is killed", inject: killReplica, want: primaryStays, gap: time.Second, restarted: 1},
		{name: "the primary's pod is deleted", inject: deletePod, want: primaryMoves, gap: time.Second, restarted: 1, core: true},
		{name: "the primary's pod is deleted by force", inject: deletePodByForce, want: primaryMoves, gap: 1500 * time.Millisecond, restarted: 1, core: true},
		{name: "the primary's node loses power", inject: stopNode, want: primaryMoves, gap: detection + 2*time.Second,
			holds: 2 * detection, restarted: 1, core: true},
		{name: "the primary's node freezes for longer than detection and comes back", inject: freezeNode, want: primaryMoves,
			gap: detection + 2*time.Second, holds: 2 * detection, restarted: 1, core: true},
		{name: "the primary's server freezes", inject: freezeServer, want: primaryMoves, gap: detection + 2*time.Second,
			holds: 2 * detection, restarted: 1},
		{name: "the primary is cut off from the operator and all members, but not from clients", inject: cutFromAll, want: primaryMoves, gap: detection + 4*time.Second,
			holds: 3 * detection, restarted: 1},
		{name: "the primary is cut off from the operator only", inject: cutFromManager, want: primaryStays, gap: time.Second,
			holds: 4 * detection},
		{name: "the primary is cut off from its replicas only", inject: cutFromReplicas, want: primaryMoves, gap: 20 * time.Second,
			holds: 3 * detection, restarted: 1},
	}
}

var _ = Describe("Faults under load", func() {
	for _, engine := range []dbv1.RedisEngine{dbv1.EngineRedis, dbv1.EngineValkey} {
		Describe(string(engine), Label(string(engine)), Ordered, ContinueOnFailure, func() {
			var s *scene
			BeforeAll(func(ctx SpecContext) { s = newScene(ctx, "faults", withEngine(engine)) }, NodeTimeout(untilSettled))
			for _, f := range troubles() {
				if !f.core && engine != dbv1.EngineRedis {
					continue
				}
				It("survives when "+f.name, func(ctx SpecContext) { s.endure(ctx, f) }, SpecTimeout(specLimit))
			}
			It("comes back when all pods are deleted at once, with new addresses", func(ctx SpecContext) {
				s.loseAllPods(ctx)
			}, SpecTimeout(specLimit))
		})
	}
})

func withEngine(engine dbv1.RedisEngine) lab.Change {
	return func(rc *dbv1.RedisCluster) {
		rc.Spec.Engine = engine
		if engine == dbv1.EngineValkey {
			rc.Spec.Version = "9.1"
		}
	}
}

// endure makes one fault under load and wants: the role where it belongs, writes again while the fault
// is in force, partial resynchronisation of the survivors, nothing lost, and a settled cluster in the end.
func (s *scene) endure(ctx context.Context, f trouble) {
	GinkgoHelper()
	s.settle(ctx)
	primary := s.primary(ctx)
	// A node that hosts both the primary and the operator's leader is a scenario of its own.
	Expect(s.Lab.MoveLeaderOff(ctx, primary.Spec.NodeName)).To(Succeed())
	t := s.load(ctx, trial.Options{})
	before := s.syncs(ctx, t)

	at := t.Mark("%s: %s", f.name, primary.Name)
	heal, err := f.inject(ctx, s, primary)
	made(err)
	if heal != nil {
		healed := false
		undo := func(ctx context.Context) error {
			if healed {
				return nil
			}
			healed = true
			return heal(ctx)
		}
		DeferCleanup(undo)
		defer func() { Expect(undo(context.WithoutCancel(ctx))).To(Succeed()) }()
		s.moves(ctx, t, f, primary)
		s.flows(ctx, t)
		hold(ctx, t, at+f.holds)
		Expect(undo(ctx)).To(Succeed())
		t.Mark("healed")
	}
	s.moves(ctx, t, f, primary)
	s.flows(ctx, t)
	s.wantRole(ctx, f.want, primary.Name)
	s.settle(ctx)
	gap := t.Gap(at)
	s.wantPartialSyncs(ctx, t, f, before)
	s.judge(ctx, t, at)
	Expect(gap.Accepted.Length()).To(BeNumerically("<", f.gap), "no write was accepted for too long")
}

// moves waits until the role has moved if it should.
func (s *scene) moves(ctx context.Context, t *trial.Trial, f trouble, from *corev1.Pod) {
	GinkgoHelper()
	if f.want != primaryMoves {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, untilFlowing)
	defer cancel()
	Expect(t.Moved(ctx, from)).To(Succeed())
}

// hold keeps the fault in force until a moment of the trial's clock.
func hold(ctx context.Context, t *trial.Trial, until time.Duration) {
	GinkgoHelper()
	select {
	case <-ctx.Done():
		Fail("the spec ended while the fault was held")
	case <-time.After(until - t.History.Now()): // The fault's duration is what is tested.
	}
}

func (s *scene) wantRole(ctx context.Context, want outcome, before string) {
	GinkgoHelper()
	now := s.primary(ctx).Name
	switch want {
	case primaryMoves:
		Expect(now).NotTo(Equal(before), "the primary should have moved")
	case primaryStays:
		Expect(now).To(Equal(before), "the primary should have stayed")
	}
}

func (s *scene) syncs(ctx context.Context, t *trial.Trial) map[string]trial.Syncs {
	GinkgoHelper()
	counts := map[string]trial.Syncs{}
	for _, pod := range s.pods(ctx) {
		c, err := t.Syncs(ctx, &pod)
		Expect(err).NotTo(HaveOccurred())
		counts[pod.Name] = c
	}
	return counts
}

// wantPartialSyncs wants that members whose server went on resumed by a partial synchronisation.
func (s *scene) wantPartialSyncs(ctx context.Context, t *trial.Trial, f trouble, before map[string]trial.Syncs) {
	GinkgoHelper()
	primary := s.primary(ctx)
	now, err := t.Syncs(ctx, primary)
	Expect(err).NotTo(HaveOccurred())
	since := now.Since(before[primary.Name])
	GinkgoWriter.Printf("%s served %d full and %d partial synchronisations\n", primary.Name, since.Full, since.Partial)
	Expect(since.Full).To(BeNumerically("<=", f.restarted), "a survivor was synchronised in full")
}

func killServer(ctx context.Context, _ *scene, primary *corev1.Pod) (fault.Heal, error) {
	return nil, env().kit.KillServer(ctx, primary)
}

func killReplica(ctx context.Context, s *scene, _ *corev1.Pod) (fault.Heal, error) {
	return nil, env().kit.KillServer(ctx, &s.replicas(ctx)[0])
}

func freezeServer(ctx context.Context, _ *scene, primary *corev1.Pod) (fault.Heal, error) {
	return env().kit.FreezeServer(ctx, primary)
}

func deletePod(ctx context.Context, _ *scene, primary *corev1.Pod) (fault.Heal, error) {
	return nil, env().kit.DeletePod(ctx, primary)
}

func deletePodByForce(ctx context.Context, _ *scene, primary *corev1.Pod) (fault.Heal, error) {
	return nil, env().kit.DeletePodByForce(ctx, primary)
}

func stopNode(ctx context.Context, _ *scene, primary *corev1.Pod) (fault.Heal, error) {
	return env().kit.StopNode(ctx, primary)
}

func freezeNode(ctx context.Context, _ *scene, primary *corev1.Pod) (fault.Heal, error) {
	return env().kit.FreezeNode(ctx, primary)
}

// cutFromAll leaves the primary only its clients and its own node, whose kubelet goes on probing it.
func cutFromAll(ctx context.Context, s *scene, primary *corev1.Pod) (fault.Heal, error) {
	managers, err := s.Lab.ManagerPods(ctx)
	if err != nil {
		return nil, err
	}
	return env().kit.Cut(ctx, primary, append(s.replicas(ctx), managers...)...)
}

func cutFromManager(ctx context.Context, s *scene, primary *corev1.Pod) (fault.Heal, error) {
	managers, err := s.Lab.ManagerPods(ctx)
	if err != nil {
		return nil, err
	}
	return env().kit.Cut(ctx, primary, managers...)
}

func cutFromReplicas(ctx context.Context, s *scene, primary *corev1.Pod) (fault.Heal, error) {
	return env().kit.Cut(ctx, primary, s.replicas(ctx)...)
}

// loseAllPods deletes every pod at once. Writes stop meanwhile; none that was confirmed may be missing.
func (s *scene) loseAllPods(ctx context.Context) {
	GinkgoHelper()
	s.settle(ctx)
	before := s.pods(ctx)
	t := s.load(ctx, trial.Options{})
	at := t.Mark("all pods are deleted")
	var errs []error
	for _, pod := range before {
		errs = append(errs, env().kit.DeletePod(ctx, &pod))
	}
	Expect(errors.Join(errs...)).To(Succeed())
	s.waitForNewPods(ctx, before)
	s.flows(ctx, t)
	s.settle(ctx)
	s.judge(ctx, t, at)
}

func (s *scene) waitForNewPods(ctx context.Context, before []corev1.Pod) {
	GinkgoHelper()
	old := map[string]bool{}
	for _, pod := range before {
		old[string(pod.UID)] = true
	}
	ctx, cancel := context.WithTimeout(ctx, untilGone)
	defer cancel()
	Expect(lab.Until(ctx, "all pods are new", func(ctx context.Context) error {
		pods, err := s.Pods(ctx)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if old[string(pod.UID)] {
				return fmt.Errorf("%s is still the old one", pod.Name)
			}
		}
		if len(pods) != len(before) {
			return fmt.Errorf("%d of %d pods are there", len(pods), len(before))
		}
		return nil
	})).To(Succeed())
}
