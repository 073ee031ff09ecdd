package chaos_test

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/fault"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
)

// longest is how long a fault stays in force at most: twice the default of detection and more.
const longest = 8 * time.Second

// scene is what a fault acts on.
type scene struct {
	kit      fault.Kit
	redis    *lab.Redis
	primary  *corev1.Pod
	replica  *corev1.Pod
	members  []corev1.Pod // but for the primary
	managers []corev1.Pod
	leader   *corev1.Pod
}

// inject makes a fault and returns what takes it back; nil: nothing has to be.
type inject func(context.Context, scene) (fault.Heal, error)

// kind of fault.
type kind struct {
	name   string
	inject inject
	// weight says how often it is chosen in relation to the others.
	weight int
	// onNode: it hits a whole node, which must not host the operator's leader too.
	onNode bool
}

func kinds() []kind {
	return []kind{
		{name: "kill the primary's server", weight: 4, inject: lasting(func(ctx context.Context, s scene) error { return s.kit.KillServer(ctx, s.primary) })},
		{name: "kill a replica's server", weight: 2, inject: lasting(func(ctx context.Context, s scene) error { return s.kit.KillServer(ctx, s.replica) })},
		{name: "delete the primary's pod", weight: 3, inject: lasting(func(ctx context.Context, s scene) error { return s.kit.DeletePod(ctx, s.primary) })},
		{name: "delete the primary's pod by force", weight: 3, inject: lasting(func(ctx context.Context, s scene) error { return s.kit.DeletePodByForce(ctx, s.primary) })},
		{name: "delete a replica's pod by force", weight: 1, inject: lasting(func(ctx context.Context, s scene) error { return s.kit.DeletePodByForce(ctx, s.replica) })},
		{name: "freeze the primary's server", weight: 3, inject: func(ctx context.Context, s scene) (fault.Heal, error) { return s.kit.FreezeServer(ctx, s.primary) }},
		{name: "freeze a replica's server", weight: 1, inject: func(ctx context.Context, s scene) (fault.Heal, error) { return s.kit.FreezeServer(ctx, s.replica) }},
		{name: "freeze the primary's node", weight: 2, onNode: true, inject: func(ctx context.Context, s scene) (fault.Heal, error) { return s.kit.FreezeNode(ctx, s.primary) }},
		{name: "cut the power of the primary's node", weight: 2, onNode: true, inject: func(ctx context.Context, s scene) (fault.Heal, error) { return s.kit.StopNode(ctx, s.primary) }},
		{name: "cut the primary off from the operator and all members", weight: 2, inject: func(ctx context.Context, s scene) (fault.Heal, error) {
			return s.kit.Cut(ctx, s.primary, append(s.members, s.managers...)...)
		}},
		{name: "cut the primary off from the operator", weight: 2, inject: func(ctx context.Context, s scene) (fault.Heal, error) {
			return s.kit.Cut(ctx, s.primary, s.managers...)
		}},
		{name: "cut the primary off from its replicas", weight: 2, inject: func(ctx context.Context, s scene) (fault.Heal, error) { return s.kit.Cut(ctx, s.primary, s.members...) }},
		{name: "cut a replica off from the primary", weight: 1, inject: func(ctx context.Context, s scene) (fault.Heal, error) { return s.kit.Cut(ctx, s.replica, *s.primary) }},
		{name: "kill the operator", weight: 1, inject: lasting(killLeader)},
		{name: "freeze the operator", weight: 1, inject: freezeLeader},
	}
}

// lasting is a fault that cannot be taken back.
func lasting(do func(context.Context, scene) error) inject {
	return func(ctx context.Context, s scene) (fault.Heal, error) { return nil, do(ctx, s) }
}

func killLeader(ctx context.Context, s scene) error {
	manager, err := s.kit.Manager(s.leader)
	if err != nil {
		return err
	}
	return manager.Kill(ctx)
}

func freezeLeader(ctx context.Context, s scene) (fault.Heal, error) {
	manager, err := s.kit.Manager(s.leader)
	if err != nil {
		return nil, err
	}
	return manager.Thaw, manager.Freeze(ctx)
}

// planner draws faults. The draw depends on nothing but the seed.
type planner struct{ random *rand.Rand }

func newPlanner(seed uint64) planner { return planner{rand.New(rand.NewPCG(seed, 0))} }

// step is one planned fault.
type step struct {
	kind kind
	// holds is how long it stays in force, if it can be taken back.
	holds time.Duration
	// replica is which one of the replicas is meant, as a fraction.
	replica float64
}

func (p planner) next() step {
	all := kinds()
	total := 0
	for _, k := range all {
		total += k.weight
	}
	ticket := p.random.IntN(total)
	s := step{holds: time.Duration(p.random.Int64N(int64(longest))), replica: p.random.Float64()}
	for _, k := range all {
		if ticket -= k.weight; ticket < 0 {
			s.kind = k
			break
		}
	}
	return s
}
