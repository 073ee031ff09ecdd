package chaos_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/testkit/fault"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

var (
	minutes = flag.Int("minutes", 0, "how long to disturb; 0 skips the run")
	seed    = flag.Uint64("seed", 1, "seed of the plan")
)

const (
	// settleLimit bounds the time until a cluster has recovered from one fault.
	settleLimit = 3 * time.Minute
	// flowLimit bounds the time until writes flow again, while the fault may still be in force.
	flowLimit = time.Minute
	// flowing is how many confirmed writes prove that.
	flowing = 100
	// untilEffect is how long a fault that cannot be taken back may need to show: a forced deletion lets the
	// process live on for a moment, and all seems well until then.
	untilEffect = 2 * time.Second
	// quiet is the time without a fault before the end.
	quiet = 10 * time.Second
)

// silent keeps the client library from logging each refused connection: the history records them.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestChaos(t *testing.T) {
	if *minutes == 0 {
		t.Skip("SKIPPED: -minutes is not given, nothing was disturbed")
	}
	redis.SetLogger(silent{})
	r := newRun(t)
	t.Logf("seed %d, %d minutes; the same seed plans the same faults", *seed, *minutes)
	started, p := time.Now(), newPlanner(*seed)
	for n := 1; time.Since(started) < time.Duration(*minutes)*time.Minute; n++ {
		s := p.next()
		if err := r.disturb(t.Context(), s); err != nil {
			r.keep()
			t.Fatalf("fault %d, %s for %s: %v", n, s.kind.name, s.holds.Round(time.Millisecond), err)
		}
	}
	hold(t.Context(), quiet)
	r.judge()
}

// run is a cluster under load.
type run struct {
	t     *testing.T
	redis *lab.Redis
	kit   fault.Kit
	trial *trial.Trial
	dir   string
}

func newRun(t *testing.T) *run {
	t.Helper()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		kubeconfig = filepath.Join(repository, ".devcluster", "kubeconfig")
	}
	l, err := lab.Open(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{t: t, kit: fault.NewKit(l, repository, os.Getenv("DEVCLUSTER")),
		dir: filepath.Join(repository, ".bench", "chaos", fmt.Sprintf("%s-seed-%d", time.Now().Format("20060102-150405"), *seed))}
	if r.kit.ToolError != nil {
		t.Fatalf("chaos needs a cluster whose nodes are on this machine: %v", r.kit.ToolError)
	}
	r.begin(l)
	return r
}

func (r *run) begin(l *lab.Lab) {
	r.t.Helper()
	ctx := r.t.Context()
	namespace, err := l.NewNamespace(ctx, "chaos")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
		defer cancel()
		if err := l.DeleteNamespace(ctx, namespace); err != nil {
			r.t.Error(err)
		}
	})
	if r.redis, err = l.NewRedis(ctx, types.NamespacedName{Namespace: namespace, Name: "chaos"}); err != nil {
		r.t.Fatal(err)
	}
	if err := r.settle(ctx); err != nil {
		r.t.Fatal(err)
	}
	if r.trial, err = trial.Begin(ctx, r.redis, trial.Options{}); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.trial.Abort)
}

// disturb makes one fault, wants writes to flow again while it is in force, and waits until all is well.
func (r *run) disturb(ctx context.Context, s step) error {
	where, err := r.scene(ctx, s)
	if err != nil {
		return err
	}
	at := r.trial.Mark("%s (primary %s, leader on %s)", s.kind.name, where.primary.Name, where.leader.Spec.NodeName)
	heal, err := s.kind.inject(ctx, where)
	switch {
	case heal != nil:
		err = errors.Join(err, r.holdAndHeal(ctx, s, heal))
	case err == nil:
		hold(ctx, untilEffect)
	}
	if err != nil {
		return err
	}
	if err := r.flows(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	now, err := r.redis.Primary(ctx)
	if err != nil {
		return err
	}
	gap := r.trial.Gap(at)
	r.t.Logf("%-55s held %5s, primary %s → %s, no write accepted for %5d ms, confirmed for %5d ms", s.kind.name,
		s.held(heal).Round(100*time.Millisecond), where.primary.Name, now.Name, gap.Accepted.Length().Milliseconds(), gap.Confirmed.Length().Milliseconds())
	return nil
}

func (s step) held(heal fault.Heal) time.Duration {
	if heal == nil {
		return 0
	}
	return s.holds
}

// holdAndHeal takes the fault back even if the wait for it was cut short.
func (r *run) holdAndHeal(ctx context.Context, s step, heal fault.Heal) error {
	hold(ctx, s.holds)
	return heal(context.WithoutCancel(ctx))
}

// hold lets real time pass: the duration of a fault is what is tested.
func hold(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (r *run) scene(ctx context.Context, s step) (scene, error) {
	primary, err := r.redis.Primary(ctx)
	if err != nil {
		return scene{}, err
	}
	if s.kind.onNode {
		if err := r.redis.Lab.MoveLeaderOff(ctx, primary.Spec.NodeName); err != nil {
			return scene{}, err
		}
	}
	if err := r.redis.Lab.WaitManager(ctx, lab.ManagerReplicas); err != nil {
		return scene{}, err
	}
	where := scene{kit: r.kit, redis: r.redis, primary: primary}
	if where.managers, err = r.redis.Lab.ManagerPods(ctx); err != nil {
		return scene{}, err
	}
	err = lab.Until(ctx, "the operator has a leader", func(ctx context.Context) error {
		where.leader, err = r.redis.Lab.Leader(ctx)
		return err
	})
	if err != nil {
		return scene{}, err
	}
	pods, err := r.redis.Pods(ctx)
	if err != nil {
		return scene{}, err
	}
	for _, pod := range pods {
		if pod.Name != primary.Name {
			where.members = append(where.members, pod)
		}
	}
	where.replica = &where.members[int(s.replica*float64(len(where.members)))]
	return where, nil
}

func (r *run) flows(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flowLimit)
	defer cancel()
	return r.trial.Flows(ctx, flowing)
}

func (r *run) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	return r.redis.WaitFor(ctx, "settled", lab.Settled())
}

func (r *run) judge() {
	r.t.Helper()
	verdict, err := r.trial.End(r.t.Context())
	if err != nil {
		r.keep()
		r.t.Fatal(err)
	}
	r.t.Log(verdict.Data.Summary())
	r.t.Logf("times in which two members claimed to be primary (without effect): %v", verdict.Primaries.Claims())
	if err := verdict.Err(); err != nil {
		r.keep()
		r.t.Errorf("seed %d: %v", *seed, err)
	}
}

// keep leaves history, objects and logs for a person.
func (r *run) keep() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	path, err := r.trial.Save(r.dir, "chaos")
	r.t.Logf("the history is in %s, objects and logs beside it (%v)", path, errors.Join(err, r.redis.Lab.Dump(ctx, r.redis.Namespace, r.dir)))
}
