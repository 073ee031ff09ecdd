package rediscluster

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/redis/execute"
	"github.com/holdfast-dev/holdfast/internal/redis/observe"
	"github.com/holdfast-dev/holdfast/internal/steps"
)

// Reconciler brings RedisClusters to what their specs ask for.
type Reconciler struct {
	Options
	period   time.Duration
	memories memories
}

// memory is what this manager remembers of one cluster between passes; losing it costs time, not safety.
type memory struct {
	observed *observe.Memory
	timeline execute.Timeline
	// latest is the cluster as this manager wrote it last: the cache may lag behind.
	latest *v1.RedisCluster
	// routed is the route as this manager wrote it last, with the version of the slice.
	routedUID     string
	routedVersion string
	// routedSeen: the cache has shown that version or a later one.
	routedSeen bool
	// config is the last configuration that was valid.
	config *configuration
	given  givenSecret
	// announced keeps what was said in events, so that it is said once.
	announced map[string]string
}

type memories struct {
	mu    sync.Mutex
	byUID map[types.UID]*memory
}

func (m *memories) of(c *v1.RedisCluster, now time.Time) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.byUID[c.UID]
	if mem == nil {
		mem = &memory{observed: observe.NewMemory(now), latest: c.DeepCopy(), announced: map[string]string{}}
		m.byUID[c.UID] = mem
	}
	return mem
}

// forget drops every cluster of that name and returns them.
func (m *memories) forget(name types.NamespacedName) []*v1.RedisCluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	var gone []*v1.RedisCluster
	for uid, mem := range m.byUID {
		if client.ObjectKeyFromObject(mem.latest) == name {
			gone = append(gone, mem.latest)
			delete(m.byUID, uid)
		}
	}
	return gone
}

// forget lets go of everything that is kept for a cluster that is gone.
func (r *Reconciler) forget(name types.NamespacedName) {
	r.Fleet.Forget(name)
	for _, cluster := range r.memories.forget(name) {
		r.Applier.Forget(cluster)
	}
	forgetMetrics(name)
}

// Reconcile is one pass.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	cluster, err := r.load(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if cluster == nil || !cluster.DeletionTimestamp.IsZero() {
		// Owner references take the objects away, the retention policy the volumes. Nothing is made any more.
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	p := newPass(cluster, r.memories.of(cluster, r.Now()), ctrl.LoggerFrom(ctx))
	result, err := steps.Run(ctx, r.passSteps(), p)
	return r.next(ctx, result, err)
}

// next says what wakes the cluster: an error retries with back-off, an alarm at its time, and the
// period in any case; everything else comes through the watches and the agents' streams.
func (r *Reconciler) next(ctx context.Context, result steps.Result, err error) (reconcile.Result, error) {
	if err != nil {
		if onlyConflicts(err) {
			// The cache lags behind our own write, or somebody else wrote: look again at once.
			ctrl.LoggerFrom(ctx).V(1).Info("object changed meanwhile", "error", err.Error())
			return reconcile.Result{RequeueAfter: 10 * time.Millisecond}, nil
		}
		return reconcile.Result{}, err
	}
	after := r.period
	if due, why, ok := result.Alarm.Due(); ok && due < after {
		ctrl.LoggerFrom(ctx).V(1).Info("next pass", "after", due.String(), "why", why)
		after = max(due, time.Millisecond)
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

func onlyConflicts(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			if !onlyConflicts(e) {
				return false
			}
		}
		return true
	}
	return apierrors.IsConflict(err)
}

// load reads the cluster; nil: it is gone. A cached copy that is older than our own last write is
// replaced by what we wrote, so that no pass decides from a status before its own intent.
func (r *Reconciler) load(ctx context.Context, name types.NamespacedName) (*v1.RedisCluster, error) {
	cluster := &v1.RedisCluster{}
	if err := r.Client.Get(ctx, name, cluster); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	mem := r.memories.of(cluster, r.Now())
	if older(cluster.ResourceVersion, mem.latest.ResourceVersion) {
		return mem.latest.DeepCopy(), nil
	}
	return cluster.DeepCopy(), nil
}

// older compares resource versions, which are decimal and ordered within one resource (KEP-5504).
func older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
