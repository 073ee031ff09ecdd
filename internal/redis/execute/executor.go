package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/observe"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// HandOverTimeout is how long writes may stand still for a planned hand-over before the engine gives up.
const HandOverTimeout = 2 * time.Second

// Orders are what agents can be told. *fleet.Fleet implements it.
type Orders interface {
	Assign(ctx context.Context, m fleet.Member, a wire.Assignment) (wire.Record, error)
	HandOver(ctx context.Context, m fleet.Member, h wire.HandOver) (wire.Record, error)
	Kill(ctx context.Context, m fleet.Member, k wire.Kill) (wire.Record, error)
	Refresh(ctx context.Context, m fleet.Member) (wire.Record, error)
}

// API is what is written to the API server. Each call fails if the object has changed since it was read.
type API interface {
	// StoreIntent writes the intent to the cluster's status; the cluster then carries the new version.
	StoreIntent(ctx context.Context, c *v1.RedisCluster, i topology.Intent) error
	// RoutePrimary leads the primary Service to the pod of that name, UID and address, or nowhere for nil.
	RoutePrimary(ctx context.Context, c *v1.RedisCluster, to *Target) error
	// DeletePod deletes the pod if it still has that UID.
	DeletePod(ctx context.Context, c *v1.RedisCluster, name, uid string) error
}

// Target is a pod that a Service leads to.
type Target struct {
	Pod     string
	UID     string
	Address string
	Node    string
}

// Announcer is told what happened once: for events, metrics and the timeline.
type Announcer interface {
	Announce(c *v1.RedisCluster, a topology.Announce)
	Restarting(c *v1.RedisCluster, d topology.DeletePod)
	Killed(c *v1.RedisCluster, k topology.Kill)
	ConfigRefused(c *v1.RedisCluster, pod string, why string)
}

// Executor runs steps. It keeps nothing between runs.
type Executor struct {
	Orders    Orders
	API       API
	Announcer Announcer
	Now       func() time.Time
}

// Run is one decision to be carried out, with what it was made from.
type Run struct {
	Cluster  *v1.RedisCluster
	State    topology.State
	Decision topology.Decision
	// Contacts by pod UID, for addresses and for what was applied last.
	Contacts map[string]fleet.Contact
	// Nodes by pod name, for the route.
	Nodes map[string]string
	// Wishes for the servers, the same for all members.
	Wishes   facts.Wishes
	Memory   *observe.Memory
	Timeline *Timeline
	Log      logr.Logger
}

// Run carries out the steps in order and stops at the first that fails. It says whether anything was done.
func (e *Executor) Run(ctx context.Context, r *Run) (bool, error) {
	var acted bool
	for _, step := range r.Decision.Steps {
		did, err := e.step(ctx, r, step)
		acted = acted || did
		if err != nil {
			return acted, err
		}
	}
	return acted, nil
}

func (e *Executor) step(ctx context.Context, r *Run, s topology.Step) (bool, error) {
	switch {
	case s.Store != nil:
		return true, e.store(ctx, r, *s.Store)
	case s.Route != nil:
		return true, e.route(ctx, r, *s.Route)
	case s.Assign != nil:
		return e.assign(ctx, r, *s.Assign)
	case s.Kill != nil:
		return true, e.kill(ctx, r, *s.Kill)
	case s.HandOver != nil:
		return true, e.handOver(ctx, r, *s.HandOver)
	case s.DeletePod != nil:
		return true, e.deletePod(ctx, r, *s.DeletePod)
	case s.Announce != nil:
		e.announce(r, *s.Announce)
	}
	return false, nil
}

func (e *Executor) store(ctx context.Context, r *Run, i topology.Intent) error {
	if err := e.API.StoreIntent(ctx, r.Cluster, i); err != nil {
		return fmt.Errorf("store intent of epoch %d: %w", i.Epoch, err)
	}
	r.Timeline.stored(i, e.Now())
	r.Log.V(1).Info("stored intent", "epoch", i.Epoch, "primary", i.Primary, "transition", i.Transition)
	return nil
}

func (e *Executor) route(ctx context.Context, r *Run, to topology.Route) error {
	if to.Pod == "" {
		if err := e.API.RoutePrimary(ctx, r.Cluster, nil); err != nil {
			return fmt.Errorf("take away the route to the primary: %w", err)
		}
		return nil
	}
	m := member(r, to.Pod)
	if m == nil || m.Pod.UID != to.UID || m.Pod.Address == "" {
		return fmt.Errorf("route to primary %s: the pod has changed", to.Pod)
	}
	target := Target{Pod: to.Pod, UID: to.UID, Address: m.Pod.Address, Node: r.Nodes[to.Pod]}
	if err := e.API.RoutePrimary(ctx, r.Cluster, &target); err != nil {
		return fmt.Errorf("route to primary %s: %w", to.Pod, err)
	}
	r.Timeline.routed(e.Now())
	return nil
}

func (e *Executor) kill(ctx context.Context, r *Run, k topology.Kill) error {
	contact, ok := r.Contacts[k.UID]
	if !ok {
		return fmt.Errorf("kill server of %s: no agent of pod UID %s", k.Pod, k.UID)
	}
	order := wire.Kill{Cluster: r.State.Want.Cluster, Epoch: k.Epoch, Reason: k.Reason}
	if _, err := e.Orders.Kill(ctx, contact.Member, order); err != nil {
		return fmt.Errorf("kill server of %s: %w", k.Pod, err)
	}
	e.Announcer.Killed(r.Cluster, k)
	return nil
}

func (e *Executor) handOver(ctx context.Context, r *Run, mv topology.Move) error {
	from, to := member(r, mv.From), member(r, mv.To)
	if from == nil || to == nil {
		return errors.New("hand over: a member is gone")
	}
	contact, ok := r.Contacts[from.Pod.UID]
	if !ok {
		return fmt.Errorf("hand over from %s: no agent", mv.From)
	}
	order := wire.HandOver{
		Cluster: r.State.Want.Cluster, Epoch: mv.Epoch, Timeout: HandOverTimeout,
		To: endpoint(to),
	}
	if _, err := e.Orders.HandOver(ctx, contact.Member, order); err != nil {
		r.Memory.HandOverFailed(mv.Epoch)
		return fmt.Errorf("hand over from %s to %s: %w", mv.From, mv.To, err)
	}
	r.Timeline.promoted(e.Now())
	// The successor's newest record is from before the hand-over; the next turn shall see it as it is.
	if successor, ok := r.Contacts[to.Pod.UID]; ok {
		if _, err := e.Orders.Refresh(ctx, successor.Member); err != nil {
			return fmt.Errorf("read %s after the hand-over: %w", mv.To, err)
		}
	}
	return nil
}

func (e *Executor) deletePod(ctx context.Context, r *Run, d topology.DeletePod) error {
	if err := e.API.DeletePod(ctx, r.Cluster, d.Pod, d.UID); err != nil {
		return fmt.Errorf("delete pod %s: %w", d.Pod, err)
	}
	e.Announcer.Restarting(r.Cluster, d)
	return nil
}

func (e *Executor) announce(r *Run, a topology.Announce) {
	// One that was given up because its target became unfit may be tried with another at once.
	if a.Occasion == topology.HandOverGivenUp && r.State.HandOverFailures >= topology.MaxHandOverFailures {
		r.Memory.HandOverGivenUp(e.Now())
	}
	e.Announcer.Announce(r.Cluster, a)
}

func member(r *Run, name string) *topology.Member {
	for i := range r.State.Members {
		if r.State.Members[i].Name == name {
			return &r.State.Members[i]
		}
	}
	return nil
}
