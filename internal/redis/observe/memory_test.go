package observe_test

import (
	"testing"
	"time"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/observe"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

func TestAnAssignmentIsHeldUntilTheServerIsAnother(t *testing.T) {
	t.Parallel()
	answer := wire.Record{AgentInstance: "a", Server: wire.Server{Instance: 1, Phase: wire.ServerStarting}}
	with := func(change func(*wire.Record)) *wire.Record {
		r := answer
		change(&r)
		return &r
	}
	cases := map[string]struct {
		pod, digest string
		now         *wire.Record
		want        bool
	}{
		"nothing has changed":      {"u", "d", &answer, true},
		"only heartbeats came":     {"u", "d", with(func(r *wire.Record) { r.Seq, r.Material = 9, 4 }), true},
		"another assignment":       {"u", "e", &answer, false},
		"another pod":              {"v", "d", &answer, false},
		"another agent in the pod": {"u", "d", with(func(r *wire.Record) { r.AgentInstance = "b" }), false},
		"the server was restarted": {"u", "d", with(func(r *wire.Record) { r.Server.Instance = 2 }), false},
		"the server is up":         {"u", "d", with(func(r *wire.Record) { r.Server.Phase = wire.ServerRunning }), false},
		"the server died":          {"u", "d", with(func(r *wire.Record) { r.Server.Phase = wire.ServerDown }), false},
		"nothing was heard of it":  {"u", "d", nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := observe.NewMemory(noon)
			m.Delivered("u", "d", answer)
			if got := m.Holds(c.pod, c.digest, c.now); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

func TestFailuresCountForOneHandOverOnly(t *testing.T) {
	t.Parallel()
	m := observe.NewMemory(noon)
	m.HandOverFailed(8)
	m.HandOverFailed(8)
	inEpoch := func(epoch int64) func(*observe.Input) {
		return func(in *observe.Input) {
			in.Memory = m
			in.Cluster.Status.Transition = &v1.Transition{Kind: v1.TransitionHandOver, Epoch: epoch}
		}
	}
	if s := snapshot(t, inEpoch(8)); s.HandOverFailures != 2 {
		t.Errorf("%d failures are counted", s.HandOverFailures)
	}
	if s := snapshot(t, inEpoch(9)); s.HandOverFailures != 0 {
		t.Errorf("the next hand-over starts with %d failures", s.HandOverFailures)
	}
	m.HandOverGivenUp(noon)
	if s := snapshot(t, inEpoch(9)); s.HandOverPause != 29*time.Second {
		t.Errorf("the pause is %s", s.HandOverPause)
	}
}

func TestTheOffsetAtWhichAMemberLeftIsKept(t *testing.T) {
	t.Parallel()
	m := observe.NewMemory(noon)
	at := func(offset int64, attached bool) int64 {
		s := snapshot(t, func(in *observe.Input) {
			in.Memory = m
			in.Cluster.Status = v1.RedisClusterStatus{Epoch: 7, Primary: "shop-0", PrimaryUID: "uid-shop-0"}
			in.Contacts[0].Record = record(func(_ *wire.Record, f *facts.Facts) {
				f.Offset = offset
				if attached {
					f.Replicas = []facts.ReplicaLink{{Host: "10.0.0.1", Online: true, Offset: offset}}
				}
			})
		})
		return s.Members[1].DetachedAt
	}
	for i, step := range []struct {
		offset   int64
		attached bool
		want     int64
	}{
		{100, true, -1}, {200, false, 200}, {300, false, 200}, {400, true, -1}, {500, false, 500},
	} {
		if got := at(step.offset, step.attached); got != step.want {
			t.Errorf("step %d: it was detached at %d, want %d", i, got, step.want)
		}
	}
}
