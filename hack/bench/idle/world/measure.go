package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/hack/bench/idle"
)

// settleLimit bounds the wait for new clusters to become healthy.
const settleLimit = 5 * time.Minute

// world is everything beside the manager.
type world struct {
	options  idle.Options
	server   *apiServer
	manager  *manager
	clusters []*cluster
	agents   int
}

// measured starts everything, measures, and stops everything again.
func measured(ctx context.Context, o idle.Options, dir string) (result idle.Result, err error) {
	machine, err := describeMachine()
	if err != nil {
		return result, err
	}
	say("machine: %s", machine)
	server, err := startAPIServer(o, dir)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if err := server.install(ctx, o.Root); err != nil {
		return result, err
	}
	if err := server.fill(ctx, o.ForeignSecrets); err != nil {
		return result, err
	}
	manager, err := startManager(ctx, o, server, dir)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, manager.stop()) }()
	w := &world{options: o, server: server, manager: manager}
	defer w.close()
	points, err := w.measure(ctx)
	if err != nil {
		return result, errors.Join(err, manager.tail())
	}
	return idle.Result{Machine: machine, Agents: "simulated", For: o.For, ForeignSecrets: o.ForeignSecrets, Points: points}, nil
}

func describeMachine() (string, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return "", fmt.Errorf("open /proc: %w", err)
	}
	memory, err := fs.Meminfo()
	if err != nil || memory.MemTotalBytes == nil {
		return "", fmt.Errorf("read the machine's memory: %w", err)
	}
	const gibibyte = 1 << 30
	return fmt.Sprintf("%d cores, %d GiB", runtime.NumCPU(), (*memory.MemTotalBytes+gibibyte/2)/gibibyte), nil
}

// measure grows the number of clusters and measures with each.
func (w *world) measure(ctx context.Context) ([]idle.Point, error) {
	if err := w.manager.ready(ctx); err != nil {
		return nil, fmt.Errorf("start the manager: %w", err)
	}
	var points []idle.Point
	for _, n := range w.options.Clusters {
		began := time.Now()
		if err := w.grow(ctx, n); err != nil {
			return nil, fmt.Errorf("make %d clusters: %w", n, err)
		}
		healthy := time.Since(began).Seconds()
		say("%d clusters are healthy after %.1f s; measuring from in %s for %s", n, healthy, w.options.Rest, w.options.For)
		p, err := w.point(ctx)
		if err != nil {
			return nil, fmt.Errorf("measure with %d clusters: %w", n, err)
		}
		p.HealthySeconds = healthy
		say("%d clusters: %.1f MiB, %.2f %% of a core, %d writes", n, p.Memory.Resident, 100*p.CPU, p.Requests.Writes)
		points = append(points, p)
	}
	return points, nil
}

// grow makes clusters until there are n, and waits until all of them are healthy.
func (w *world) grow(ctx context.Context, n int) error {
	for i := len(w.clusters); i < n; i++ {
		c, err := w.create(ctx, i)
		if err != nil {
			return err
		}
		w.clusters = append(w.clusters, c)
	}
	return until(ctx, settleLimit, func() (string, error) {
		for _, c := range w.clusters {
			if err := w.playKubernetes(ctx, c); err != nil {
				return "", err
			}
		}
		return w.unhealthy(ctx)
	})
}

// create makes the shortest cluster that a user can write, in a namespace of its own.
func (w *world) create(ctx context.Context, i int) (*cluster, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("team-%d", i)}}
	if err := w.server.client.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("make namespace: %w", err)
	}
	size := resource.MustParse("1Gi")
	made := &v1.RedisCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "shop"},
		Spec:       v1.RedisClusterSpec{Version: "8.0", Storage: v1.StorageSpec{Size: &size}},
	}
	if err := w.server.client.Create(ctx, made); err != nil {
		return nil, fmt.Errorf("make cluster: %w", err)
	}
	return &cluster{namespace: made.Namespace, name: made.Name, uid: string(made.UID)}, nil
}

// unhealthy names a cluster that is not healthy yet; empty: all are.
func (w *world) unhealthy(ctx context.Context) (string, error) {
	var list v1.RedisClusterList
	if err := w.server.client.List(ctx, &list); err != nil {
		return "", fmt.Errorf("list clusters: %w", err)
	}
	if len(list.Items) != len(w.clusters) {
		return fmt.Sprintf("%d clusters are there", len(list.Items)), nil
	}
	for i := range list.Items {
		c := &list.Items[i]
		s := c.Status
		settled := meta.IsStatusConditionTrue(s.Conditions, v1.ConditionAvailable) &&
			meta.IsStatusConditionFalse(s.Conditions, v1.ConditionProgressing) &&
			meta.IsStatusConditionFalse(s.Conditions, v1.ConditionDegraded)
		if !settled || s.ObservedGeneration != c.Generation || s.ReadyMembers != fmt.Sprintf("%d/%d", c.Spec.Replicas, c.Spec.Replicas) {
			return fmt.Sprintf("%s is %q, %s ready, %v", client.ObjectKeyFromObject(c), s.Phase, s.ReadyMembers, s.Conditions), nil
		}
	}
	return "", nil
}

// point measures the clusters that are there.
func (w *world) point(ctx context.Context) (idle.Point, error) {
	if err := pause(ctx, w.options.Rest); err != nil {
		return idle.Point{}, err
	}
	before, err := w.read(ctx)
	if err != nil {
		return idle.Point{}, err
	}
	if err := pause(ctx, w.options.For); err != nil {
		return idle.Point{}, err
	}
	// Read before the metrics are asked for again: that answer is no part of an idle manager.
	memory, err := w.manager.memory()
	if err != nil {
		return idle.Point{}, err
	}
	after, err := w.read(ctx)
	if err != nil {
		return idle.Point{}, err
	}
	if waiting, err := w.unhealthy(ctx); err != nil || waiting != "" {
		return idle.Point{}, errors.Join(err, fmt.Errorf("at the end: %s", waiting))
	}
	if err := w.podsStayed(ctx); err != nil {
		return idle.Point{}, err
	}
	requests, err := w.counted(before.at, after.at)
	if err != nil {
		return idle.Point{}, err
	}
	seconds := after.at.Sub(before.at).Seconds()
	memory.Heap = after.heap
	p := idle.Point{
		Clusters: len(w.clusters), Agents: w.agents, Memory: memory, CPU: (after.cpu - before.cpu) / seconds,
		Goroutines: after.goroutines, HeartbeatsPerSecond: float64(after.echoes-before.echoes) / seconds,
		Passes: after.passes - before.passes, Requests: requests,
	}
	if n := len(w.clusters); n > 0 {
		p.PassesPerClusterMinute = float64(p.Passes) / float64(n) / seconds * 60
	}
	return p, nil
}

// counted are the manager's requests within a span of time. The writes that made the clusters must be
// among those before it, or else no writes would mean nothing.
func (w *world) counted(from, to time.Time) (idle.Requests, error) {
	making, err := w.server.requests(time.Time{}, from)
	if err != nil {
		return making, err
	}
	if len(w.clusters) > 0 && making.Writes < len(w.clusters) {
		return making, fmt.Errorf("only %d writes were seen while %d clusters were made: the count is wrong", making.Writes, len(w.clusters))
	}
	return w.server.requests(from, to)
}

// reading is what the counters show at one moment.
type reading struct {
	at         time.Time
	cpu        float64
	heap       float64
	goroutines int
	passes     int
	echoes     int
}

func (w *world) read(ctx context.Context) (reading, error) {
	var r reading
	families, err := w.manager.metrics(ctx)
	if err != nil {
		return r, err
	}
	r.at, r.echoes = time.Now(), w.echoes()
	if r.cpu, err = w.manager.cpu(); err != nil {
		return r, err
	}
	const mebibyte = 1 << 20
	r.heap = sum(families["go_memstats_heap_inuse_bytes"]) / mebibyte
	r.goroutines = int(sum(families["go_goroutines"]))
	r.passes = int(sum(families["controller_runtime_reconcile_total"]))
	return r, nil
}

// echoes that the manager sent for heartbeats so far.
func (w *world) echoes() int {
	n := 0
	for _, c := range w.clusters {
		for _, m := range c.members {
			n += len(m.agent.Echoes())
		}
	}
	return n
}

func (w *world) close() {
	for _, c := range w.clusters {
		for _, m := range c.members {
			// The process ends next.
			_ = m.agent.Close()
		}
	}
}

// tail is the end of the manager's log, as an error that says what went on.
func (m *manager) tail() error {
	const length = 4 << 10
	log, err := os.ReadFile(m.log)
	if err != nil {
		return fmt.Errorf("read the manager's log: %w", err)
	}
	return fmt.Errorf("the manager's log ends with:\n%s", slices.Clone(log[max(0, len(log)-length):]))
}
