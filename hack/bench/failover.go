package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/fault"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
	"github.com/holdfast-dev/holdfast/internal/testkit/trial"
)

// Bounds of one run.
const (
	settleLimit = 3 * time.Minute
	flowLimit   = time.Minute
	// flowing is how many confirmed writes prove that a cluster serves again.
	flowing = 200
)

// disturbance is a fault that is measured.
type disturbance struct {
	name   string
	inject func(context.Context, fault.Kit, *corev1.Pod) (fault.Heal, error)
	// every is the divisor of -runs: slow faults are made less often.
	every int
}

func disturbances() []disturbance {
	return []disturbance{
		{"process killed", func(ctx context.Context, k fault.Kit, p *corev1.Pod) (fault.Heal, error) {
			return nil, k.KillServer(ctx, p)
		}, 1},
		{"pod deleted by force", func(ctx context.Context, k fault.Kit, p *corev1.Pod) (fault.Heal, error) {
			return nil, k.DeletePodByForce(ctx, p)
		}, 1},
		{"pod deleted (hand-over)", func(ctx context.Context, k fault.Kit, p *corev1.Pod) (fault.Heal, error) {
			return nil, k.DeletePod(ctx, p)
		}, 1},
		{"server frozen", func(ctx context.Context, k fault.Kit, p *corev1.Pod) (fault.Heal, error) {
			return k.FreezeServer(ctx, p)
		}, 1},
		{"node power cut", func(ctx context.Context, k fault.Kit, p *corev1.Pod) (fault.Heal, error) { return k.StopNode(ctx, p) }, 4},
	}
}

// failovers is what one disturbance gave.
type failovers struct {
	Name      string `json:"name"`
	Accepted  spread `json:"accepted"`
	Confirmed spread `json:"confirmed"`
	// Full and Partial synchronisations that the new primaries served before the old one was back.
	Full    int64 `json:"fullSyncs"`
	Partial int64 `json:"partialSyncs"`
	// Writes over all runs; Lost of those that a replica confirmed.
	Writes    int `json:"writes"`
	Confirms  int `json:"confirmedWrites"`
	Lost      int `json:"lostConfirmed"`
	LostOther int `json:"lostUnconfirmed"`
	// Phases of the operator's own timeline, in its order.
	Phases []phase `json:"phases,omitempty"`
	// Skipped says why it was not measured.
	Skipped string `json:"skipped,omitempty"`
}

// one is what one run gave.
type one struct {
	accepted, confirmed time.Duration
	syncs               trial.Syncs
	verdict             trial.Verdict
	timeline            map[string]int64
	errors              map[string]int
}

func measureFailovers(ctx context.Context, b *bench) (any, error) {
	redis, cleanUp, err := b.newRedis(ctx, "bench")
	if err != nil {
		return nil, err
	}
	defer cleanUp()
	var all []failovers
	for _, d := range disturbances() {
		if !strings.Contains(d.name, b.only) {
			continue
		}
		f, err := b.repeat(ctx, redis, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		all = append(all, f)
	}
	return all, printFailovers(all)
}

func (b *bench) repeat(ctx context.Context, redis *lab.Redis, d disturbance) (failovers, error) {
	f := failovers{Name: d.name}
	var accepted, confirmed []time.Duration
	var timelines []map[string]int64
	for i := range max(b.runs/d.every, 1) {
		r, err := b.once(ctx, redis, d)
		if err != nil && b.kit.Impossible(err) {
			f.Skipped = err.Error()
			return f, nil
		}
		if err != nil {
			return f, err
		}
		progress("%-24s run %2d: accepted after %4d ms, confirmed after %4d ms, timeline %v, errors %v", d.name, i+1,
			r.accepted.Milliseconds(), r.confirmed.Milliseconds(), r.timeline, r.errors)
		accepted, confirmed = append(accepted, r.accepted), append(confirmed, r.confirmed)
		f.Full += r.syncs.Full
		f.Partial += r.syncs.Partial
		f.Writes += r.verdict.Data.Counts.Accepted
		f.Confirms += r.verdict.Data.Counts.Confirmed
		f.Lost += len(r.verdict.Data.Lost)
		f.LostOther += r.verdict.Data.LostUnconfirmed
		timelines = append(timelines, r.timeline)
		if err := r.verdict.Err(); err != nil {
			progress("VIOLATION in run %d of %s: %v", i+1, d.name, err)
		}
	}
	f.Accepted, f.Confirmed, f.Phases = spreadOf(accepted), spreadOf(confirmed), phasesOf(timelines)
	return f, nil
}

func (b *bench) once(ctx context.Context, redis *lab.Redis, d disturbance) (result one, err error) {
	if err := settle(ctx, redis); err != nil {
		return one{}, err
	}
	primary, err := redis.Primary(ctx)
	if err != nil {
		return one{}, err
	}
	if err := b.lab.MoveLeaderOff(ctx, primary.Spec.NodeName); err != nil {
		return one{}, err
	}
	t, err := trial.Begin(ctx, redis, trial.Options{})
	if err != nil {
		return one{}, err
	}
	defer t.Abort()
	started := time.Now()
	before, err := syncsOf(ctx, redis, t)
	if err != nil {
		return one{}, err
	}
	at := t.Mark("%s: %s", d.name, primary.Name)
	heal, err := d.inject(ctx, b.kit, primary)
	if err != nil {
		return one{}, err
	}
	if heal != nil {
		healed := false
		defer func() {
			if !healed {
				err = errors.Join(err, heal(context.WithoutCancel(ctx)))
			}
		}()
		// The survivors are counted before the old primary comes back.
		if result.syncs, err = b.served(ctx, t, primary, before); err != nil {
			return one{}, err
		}
		healed = true
		if err := heal(ctx); err != nil {
			return one{}, err
		}
	} else if result.syncs, err = b.served(ctx, t, primary, before); err != nil {
		return one{}, err
	}
	gap := t.Gap(at)
	if err := settle(ctx, redis); err != nil {
		return one{}, err
	}
	result.accepted, result.confirmed = gap.Accepted.Length(), gap.Confirmed.Length()
	result.errors = errorsSince(t, at)
	if result.verdict, err = t.End(ctx); err != nil {
		return one{}, err
	}
	result.timeline, err = b.timelineSince(ctx, redis.NamespacedName, started)
	return result, err
}

// served waits until writes flow to another primary and says what that one served meanwhile.
func (b *bench) served(ctx context.Context, t *trial.Trial, from *corev1.Pod, before map[string]trial.Syncs) (trial.Syncs, error) {
	flow, cancel := context.WithTimeout(ctx, flowLimit)
	defer cancel()
	if err := t.Moved(flow, from); err != nil {
		return trial.Syncs{}, err
	}
	if err := t.Flows(flow, flowing); err != nil {
		return trial.Syncs{}, err
	}
	primary, err := t.Redis.Primary(ctx)
	if err != nil {
		return trial.Syncs{}, err
	}
	now, err := t.Syncs(ctx, primary)
	return now.Since(before[primary.Name]), err
}

// errorsSince counts what clients were told since a moment, shortened to its first words.
func errorsSince(t *trial.Trial, at time.Duration) map[string]int {
	counts := map[string]int{}
	for _, e := range t.History.Events() {
		if e.Call >= at-time.Second && e.Outcome != "ok" && e.Text != "" && e.Kind != "mark" {
			counts[string(e.Kind)+" "+firstWords(e.Text)]++
		}
	}
	return counts
}

func firstWords(text string) string {
	const words, longest = 4, 60
	fields := strings.Fields(text)
	if strings.Contains(text, ": ") && !strings.HasPrefix(text, "sign in") {
		fields = strings.Fields(text[strings.LastIndex(text, ": ")+2:])
	}
	line := strings.Join(fields[:min(len(fields), words)], " ")
	return line[:min(len(line), longest)]
}

func syncsOf(ctx context.Context, redis *lab.Redis, t *trial.Trial) (map[string]trial.Syncs, error) {
	pods, err := redis.Pods(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]trial.Syncs{}
	for _, pod := range pods {
		if counts[pod.Name], err = t.Syncs(ctx, &pod); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

func settle(ctx context.Context, redis *lab.Redis) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	return redis.WaitFor(ctx, "settled", lab.Settled())
}

// newRedis makes a cluster in a namespace of its own.
func (b *bench) newRedis(ctx context.Context, name string) (*lab.Redis, func(), error) {
	namespace, err := b.lab.NewNamespace(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	cleanUp := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
		defer cancel()
		if err := b.lab.DeleteNamespace(ctx, namespace); err != nil {
			progress("namespace %s is left behind: %v", namespace, err)
		}
	}
	redis, err := b.lab.NewRedis(ctx, types.NamespacedName{Namespace: namespace, Name: name}, b.withEngine)
	if err != nil {
		cleanUp()
		return nil, nil, err
	}
	if err := settle(ctx, redis); err != nil {
		cleanUp()
		return nil, nil, err
	}
	return redis, cleanUp, nil
}

func (b *bench) withEngine(rc *dbv1.RedisCluster) {
	if b.engine == string(dbv1.EngineValkey) {
		rc.Spec.Engine, rc.Spec.Version = dbv1.EngineValkey, "9.1"
	}
}

func printFailovers(all []failovers) error {
	rows := [][]string{{"fault", "runs", "accepted: median", "worst", "confirmed: median", "worst", "full syncs", "partial", "confirmed writes", "lost", "note"}}
	for _, f := range all {
		rows = append(rows, []string{f.Name, strconv.Itoa(f.Accepted.Runs), f.Accepted.median(), f.Accepted.worst(),
			f.Confirmed.median(), f.Confirmed.worst(), strconv.FormatInt(f.Full, 10), strconv.FormatInt(f.Partial, 10),
			strconv.Itoa(f.Confirms), strconv.Itoa(f.Lost), f.Skipped})
	}
	if err := table(os.Stdout, rows); err != nil {
		return err
	}
	fmt.Println("\nWhere the time goes, by the operator's own timeline (median, ms since it heard of the fault):")
	rows = [][]string{}
	for _, f := range all {
		row := []string{f.Name}
		for _, p := range f.Phases {
			row = append(row, fmt.Sprintf("%s %d", p.Name, p.Median))
		}
		rows = append(rows, row)
	}
	return table(os.Stdout, rows)
}
