package execute_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/redis/execute"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/observe"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// edge is everything that the executor touches. It notes what it was told, in order.
type edge struct {
	mu   sync.Mutex
	told []string
	// fails names what fails, as it is noted.
	fails map[string]error
	// answers are the records of agents by pod; they change what was applied unless a test says otherwise.
	answers map[string]func(a wire.Assignment) wire.Record
	// arrived is called when an order arrives, before it is answered.
	arrived func(what string)
}

func (e *edge) note(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if e.arrived != nil {
		e.arrived(what)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, what)
	return e.fails[what]
}

func (e *edge) Assign(_ context.Context, m fleet.Member, a wire.Assignment) (wire.Record, error) {
	if err := e.note("assign %s %s @%d", m.Pod, a.Role, a.Epoch); err != nil {
		return wire.Record{}, err
	}
	if answer := e.answers[m.Pod]; answer != nil {
		return answer(a), nil
	}
	return wire.Record{Server: wire.Server{Phase: wire.ServerRunning}}, nil
}

func (e *edge) HandOver(_ context.Context, m fleet.Member, h wire.HandOver) (wire.Record, error) {
	return wire.Record{}, e.note("hand over %s → %s @%d", m.Pod, h.To.Pod, h.Epoch)
}

func (e *edge) Kill(_ context.Context, m fleet.Member, k wire.Kill) (wire.Record, error) {
	return wire.Record{}, e.note("kill %s %s @%d", m.Pod, m.PodUID, k.Epoch)
}

func (e *edge) Refresh(_ context.Context, m fleet.Member) (wire.Record, error) {
	return wire.Record{}, e.note("refresh %s", m.Pod)
}

func (e *edge) StoreIntent(_ context.Context, _ *v1.RedisCluster, i topology.Intent) error {
	return e.note("store @%d", i.Epoch)
}

func (e *edge) RoutePrimary(_ context.Context, _ *v1.RedisCluster, to *execute.Target) error {
	if to == nil {
		return e.note("route nowhere")
	}
	return e.note("route %s at %s on %s", to.Pod, to.Address, to.Node)
}

func (e *edge) DeletePod(_ context.Context, _ *v1.RedisCluster, name, uid string) error {
	return e.note("delete %s %s", name, uid)
}

func (e *edge) Announce(_ *v1.RedisCluster, a topology.Announce) {
	_ = e.note("announce %s", a.Occasion)
}

func (e *edge) Restarting(_ *v1.RedisCluster, d topology.DeletePod) {
	_ = e.note("announce restart of %s", d.Pod)
}

func (e *edge) Killed(_ *v1.RedisCluster, k topology.Kill) { _ = e.note("announce kill of %s", k.Pod) }

func (e *edge) ConfigRefused(_ *v1.RedisCluster, pod, why string) {
	_ = e.note("announce refusal by %s: %s", pod, why)
}

// runOf carries out steps in a settled cluster of three, whose agents have applied nothing that counts.
func runOf(steps ...topology.Step) *execute.Run {
	state := redisstate.Settled(3)
	r := &execute.Run{
		Cluster: &v1.RedisCluster{}, State: state, Decision: topology.Decision{Steps: steps},
		Contacts: map[string]fleet.Contact{}, Nodes: map[string]string{}, Memory: observe.NewMemory(time.Time{}),
		Timeline: &execute.Timeline{}, Log: logr.Discard(),
		Wishes: facts.Wishes{Engine: "redis", Parameters: map[string]string{"maxmemory": "1"}},
	}
	for _, m := range state.Members {
		r.Contacts[m.Pod.UID] = fleet.Contact{
			Member:    fleet.Member{Pod: m.Name, PodUID: m.Pod.UID},
			Connected: true, Record: &wire.Record{Server: wire.Server{Phase: wire.ServerRunning}},
		}
		r.Nodes[m.Name] = "node of " + m.Name
	}
	return r
}

func (e *edge) run(t *testing.T, r *execute.Run) (acted bool, err error) {
	t.Helper()
	x := &execute.Executor{Orders: e, API: e, Announcer: e, Now: func() time.Time { return time.Unix(0, 0) }}
	return x.Run(t.Context(), r)
}

// name and uid of a member, as redisstate gives them.
func name(i int) string { return redisstate.Name(i) }

func uid(i int) string { return redisstate.UID(i) }

func assign(epoch int64, roles ...topology.Role) topology.Step {
	a := &topology.Assign{Epoch: epoch, Roles: map[string]topology.Role{}}
	for i, role := range roles {
		a.Roles[name(i)] = role
		if role == topology.Primary {
			a.Primary = name(i)
		}
	}
	return topology.Step{Assign: a}
}

// follow tells a settled cluster its roles again: only wishes differ.
func follow() topology.Step {
	return assign(redisstate.Settled(3).Intent.Epoch, topology.Primary, topology.Replica, topology.Replica)
}

func TestStepsAreCarriedOutInTheirOrder(t *testing.T) {
	t.Parallel()
	e := &edge{}
	acted, err := e.run(t, runOf(
		topology.Step{Store: &topology.Intent{Epoch: 9}},
		topology.Step{Route: &topology.Route{}},
		topology.Step{Route: &topology.Route{Pod: name(1), UID: uid(1)}},
		topology.Step{Kill: &topology.Kill{Pod: name(0), UID: uid(0), Epoch: 9}},
		topology.Step{HandOver: &topology.Move{From: name(0), To: name(2), Epoch: 9}},
		topology.Step{DeletePod: &topology.DeletePod{Pod: name(2), UID: uid(2)}},
		topology.Step{Announce: &topology.Announce{Occasion: topology.FailoverCompleted}},
	))
	if err != nil || !acted {
		t.Fatalf("acted %t: %v", acted, err)
	}
	want := []string{
		"store @9", "route nowhere",
		fmt.Sprintf("route %s at %s on node of %s", name(1), redisstate.Settled(3).Members[1].Pod.Address, name(1)),
		fmt.Sprintf("kill %s %s @9", name(0), uid(0)), "announce kill of " + name(0),
		fmt.Sprintf("hand over %s → %s @9", name(0), name(2)), "refresh " + name(2),
		fmt.Sprintf("delete %s %s", name(2), uid(2)), "announce restart of " + name(2),
		"announce FailoverCompleted",
	}
	if !slices.Equal(e.told, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(e.told, "\n"), strings.Join(want, "\n"))
	}
}

func TestAStepThatFailsStopsTheRest(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := map[string]struct {
		step  topology.Step
		fails string
	}{
		"an intent that is not stored":   {topology.Step{Store: &topology.Intent{Epoch: 9}}, "store @9"},
		"a route that is not taken away": {topology.Step{Route: &topology.Route{}}, "route nowhere"},
		"a server that is not killed":    {topology.Step{Kill: &topology.Kill{Pod: name(0), UID: uid(0), Epoch: 9}}, fmt.Sprintf("kill %s %s @9", name(0), uid(0))},
		"a hand-over that is refused":    {topology.Step{HandOver: &topology.Move{From: name(0), To: name(1), Epoch: 9}}, fmt.Sprintf("hand over %s → %s @9", name(0), name(1))},
		"a pod that is not deleted":      {topology.Step{DeletePod: &topology.DeletePod{Pod: name(1), UID: uid(1)}}, fmt.Sprintf("delete %s %s", name(1), uid(1))},
		"a member that is not held":      {assign(9, topology.Held), fmt.Sprintf("assign %s Held @9", name(0))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &edge{fails: map[string]error{c.fails: broken}}
			_, err := e.run(t, runOf(c.step, topology.Step{Store: &topology.Intent{Epoch: 10}}))
			if !errors.Is(err, broken) {
				t.Errorf("the error is %v", err)
			}
			if slices.Contains(e.told, "store @10") {
				t.Errorf("it went on: %v", e.told)
			}
		})
	}
}

func TestAStepWhoseGroundHasShiftedFails(t *testing.T) {
	t.Parallel()
	cases := map[string]topology.Step{
		"a route to a pod that was replaced":   {Route: &topology.Route{Pod: name(1), UID: "another"}},
		"a route to a member that is gone":     {Route: &topology.Route{Pod: name(7), UID: uid(7)}},
		"a kill of a pod that nobody hears":    {Kill: &topology.Kill{Pod: name(1), UID: "another", Epoch: 9}},
		"a hand-over to a member that is gone": {HandOver: &topology.Move{From: name(0), To: name(7), Epoch: 9}},
		"a role for a member that is gone":     {Assign: &topology.Assign{Epoch: 9, Roles: map[string]topology.Role{name(7): topology.Held}}},
		"a replica of a member that is gone": {Assign: &topology.Assign{
			Epoch: 9, Primary: name(7), Roles: map[string]topology.Role{name(1): topology.Replica},
		}},
	}
	for name, step := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &edge{}
			if _, err := e.run(t, runOf(step)); err == nil {
				t.Error("it succeeded")
			}
			if len(e.told) > 0 {
				t.Errorf("it told %v", e.told)
			}
		})
	}
}

func TestMembersAreHeldAtTheSameTime(t *testing.T) {
	t.Parallel()
	var together sync.WaitGroup
	together.Add(3)
	e := &edge{arrived: func(what string) {
		if strings.HasPrefix(what, "assign") {
			// Each order is answered only when all have arrived.
			together.Done()
			together.Wait()
		}
	}}
	if _, err := e.run(t, runOf(assign(9, topology.Held, topology.Held, topology.Held))); err != nil {
		t.Fatal(err)
	}
	if len(e.told) != 3 {
		t.Errorf("told %v", e.told)
	}
}

func TestAHeldMemberThatFailsDoesNotHinderTheOthers(t *testing.T) {
	t.Parallel()
	e := &edge{fails: map[string]error{fmt.Sprintf("assign %s Held @9", name(0)): fleet.ErrNotConnected}}
	_, err := e.run(t, runOf(assign(9, topology.Held, topology.Held, topology.Held)))
	if !errors.Is(err, fleet.ErrNotConnected) || len(e.told) != 3 {
		t.Errorf("told %v: %v", e.told, err)
	}
}

func TestWishesReachOneReplicaFirstAndThePrimaryLast(t *testing.T) {
	t.Parallel()
	e := &edge{}
	if _, err := e.run(t, runOf(follow())); err != nil {
		t.Fatal(err)
	}
	epoch := redisstate.Settled(3).Intent.Epoch
	want := []string{
		fmt.Sprintf("assign %s Replica @%d", name(1), epoch),
		fmt.Sprintf("assign %s Replica @%d", name(2), epoch),
		fmt.Sprintf("assign %s Primary @%d", name(0), epoch),
	}
	if !slices.Equal(e.told, want) {
		t.Errorf("told %v, want %v", e.told, want)
	}
}

func TestARefusedWishSpreadsNoFurther(t *testing.T) {
	t.Parallel()
	refusing := func(wire.Assignment) wire.Record {
		return wire.Record{AssignmentError: "no", Server: wire.Server{Phase: wire.ServerRunning}}
	}
	epoch := redisstate.Settled(3).Intent.Epoch
	for pod, told := range map[int]int{1: 1, 2: 2} {
		t.Run(fmt.Sprintf("member %d refuses", pod), func(t *testing.T) {
			t.Parallel()
			e := &edge{answers: map[string]func(wire.Assignment) wire.Record{name(pod): refusing}}
			r := runOf(follow())
			if _, err := e.run(t, r); err != nil {
				t.Fatal(err)
			}
			if len(e.told) != told+1 || e.told[told] != "announce refusal by "+name(pod)+": no" {
				t.Errorf("told %v", e.told)
			}
			if slices.Contains(e.told, fmt.Sprintf("assign %s Primary @%d", name(0), epoch)) {
				t.Errorf("the primary was told: %v", e.told)
			}
			// The next pass knows it, and neither asks again nor goes on to the others.
			c := r.Contacts[uid(pod)]
			c.Record = &wire.Record{AssignmentError: "no", Server: wire.Server{Phase: wire.ServerRunning}}
			r.Contacts[uid(pod)] = c
			e.told = nil
			if acted, err := e.run(t, r); err != nil || acted || len(e.told) > 0 {
				t.Errorf("the next pass acted %t, told %v: %v", acted, e.told, err)
			}
		})
	}
}

func TestAnOrderThatIsObeyedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	applied := map[string]string{}
	e := &edge{answers: map[string]func(wire.Assignment) wire.Record{}}
	for i := range 3 {
		e.answers[name(i)] = func(a wire.Assignment) wire.Record {
			digest, err := a.Digest()
			if err != nil {
				t.Error(err)
			}
			applied[name(i)] = digest
			return wire.Record{AssignmentDigest: digest, Server: wire.Server{Phase: wire.ServerRunning}}
		}
	}
	r := runOf(follow())
	if acted, err := e.run(t, r); err != nil || !acted || len(applied) != 3 {
		t.Fatalf("acted %t, applied by %d: %v", acted, len(applied), err)
	}
	for i := range 3 {
		c := r.Contacts[uid(i)]
		c.Record = &wire.Record{AssignmentDigest: applied[name(i)], Server: wire.Server{Phase: wire.ServerRunning}}
		r.Contacts[uid(i)] = c
	}
	e.told = nil
	if acted, err := e.run(t, r); err != nil || acted || len(e.told) > 0 {
		t.Errorf("acted %t, told %v: %v", acted, e.told, err)
	}
	// A wish that changes reaches everybody.
	r.Wishes.Parameters = map[string]string{"maxmemory": "2"}
	if acted, err := e.run(t, r); err != nil || !acted || len(e.told) != 3 {
		t.Errorf("acted %t, told %v: %v", acted, e.told, err)
	}
	// A primary that blocks writes is told again, since that lifts the block.
	r.Wishes.Parameters = map[string]string{"maxmemory": "1"}
	c := r.Contacts[uid(0)]
	c.Record.WritesFenced = true
	e.told = nil
	if _, err := e.run(t, r); err != nil || len(e.told) != 1 || !strings.HasPrefix(e.told[0], "assign "+name(0)) {
		t.Errorf("of a fenced primary told %v: %v", e.told, err)
	}
}

func TestAnOrderInTheWorksIsNotSentAgainUntilTheServerIsAnother(t *testing.T) {
	t.Parallel()
	starting := wire.Record{AgentInstance: "a", Server: wire.Server{Instance: 1, Phase: wire.ServerStarting}}
	e := &edge{answers: map[string]func(wire.Assignment) wire.Record{
		name(1): func(wire.Assignment) wire.Record { return starting },
	}}
	r := runOf(topology.Step{Assign: &topology.Assign{Epoch: 9, Roles: map[string]topology.Role{name(1): topology.Held}}})
	set := func(record wire.Record) {
		c := r.Contacts[uid(1)]
		c.Record = &record
		r.Contacts[uid(1)] = c
	}
	set(starting)
	again := starting
	again.Server.Instance = 2
	for i, step := range []struct {
		now  wire.Record
		sent bool
	}{{starting, true}, {starting, false}, {again, true}} {
		set(step.now)
		e.told = nil
		acted, err := e.run(t, r)
		if err != nil || acted != step.sent || (len(e.told) > 0) != step.sent {
			t.Errorf("step %d: acted %t, told %v: %v", i, acted, e.told, err)
		}
	}
}

func TestAnAssignmentIsComplete(t *testing.T) {
	t.Parallel()
	var got wire.Assignment
	e := &edge{answers: map[string]func(wire.Assignment) wire.Record{
		name(1): func(a wire.Assignment) wire.Record { got = a; return wire.Record{} },
	}}
	r := runOf(follow())
	r.Cluster.Spec.Failover.Isolation.Duration = 10 * time.Second
	if _, err := e.run(t, r); err != nil {
		t.Fatal(err)
	}
	var wishes facts.Wishes
	if err := json.Unmarshal(got.Engine, &wishes); err != nil {
		t.Fatal(err)
	}
	switch {
	case got.Cluster != r.State.Want.Cluster || got.Epoch != r.State.Intent.Epoch || got.Role != wire.RoleReplica:
		t.Errorf("it is for %s, epoch %d, role %s", got.Cluster, got.Epoch, got.Role)
	case got.Primary == nil || got.Primary.Pod != name(0) || got.Primary.Port != 6379:
		t.Errorf("it follows %v", got.Primary)
	case len(got.Peers) != 2 || got.LeasePeers != 1:
		t.Errorf("%d lease peers of %v", got.LeasePeers, got.Peers)
	case got.Lease != r.State.Want.Lease || got.Isolation != 10*time.Second:
		t.Errorf("lease %s, isolation %s", got.Lease, got.Isolation)
	case wishes.Parameters["maxmemory"] != "1":
		t.Errorf("wishes are %v", wishes)
	}
	if slices.ContainsFunc(got.Peers, func(p wire.PeerAddress) bool { return p.Pod == name(1) || p.Port != 8443 }) {
		t.Errorf("peers are %v", got.Peers)
	}
}
