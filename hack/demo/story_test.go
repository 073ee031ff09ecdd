package main

import (
	"slices"
	"testing"
	"time"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/testkit/history"
)

func TestChangesAreToldOnce(t *testing.T) {
	t.Parallel()
	failover := &dbv1.Transition{Kind: dbv1.TransitionFailover, Epoch: 2, From: "demo-0", Reason: "The server of demo-0 is down."}
	elected := failover.DeepCopy()
	elected.To = "demo-1"
	primary := dbv1.RedisClusterStatus{Primary: "demo-0", Epoch: 1}
	cases := map[string]struct {
		before, after dbv1.RedisClusterStatus
		want          []string
	}{
		"nothing changed": {primary, primary, nil},
		"a failover begins": {primary, dbv1.RedisClusterStatus{Primary: "demo-0", Epoch: 1, Transition: failover},
			[]string{"a failover begins, epoch 2: The server of demo-0 is down"}},
		"its successor is elected": {dbv1.RedisClusterStatus{Transition: failover}, dbv1.RedisClusterStatus{Transition: elected},
			[]string{"demo-1 is elected"}},
		"both are seen at once": {primary, dbv1.RedisClusterStatus{Primary: "demo-0", Epoch: 1, Transition: elected},
			[]string{"a failover begins, epoch 2: The server of demo-0 is down", "demo-1 is elected"}},
		"a transition that is over says nothing more": {dbv1.RedisClusterStatus{Transition: elected}, dbv1.RedisClusterStatus{}, nil},
		"the successor serves": {primary, dbv1.RedisClusterStatus{Primary: "demo-1", Epoch: 2},
			[]string{"demo-1 is the new primary, epoch 2 (before: demo-0, epoch 1)"}},
		"the same member becomes primary again": {primary, dbv1.RedisClusterStatus{Primary: "demo-0", Epoch: 2},
			[]string{"demo-0 is the new primary, epoch 2 (before: demo-0, epoch 1)"}},
		"members change": {
			dbv1.RedisClusterStatus{Members: []dbv1.MemberStatus{{Name: "a", Role: dbv1.RolePrimary, Ready: true},
				{Name: "b", Role: dbv1.RoleReplica}, {Name: "c", Role: dbv1.RoleReplica, Ready: true}, {Name: "d", Role: dbv1.RoleReplica}}},
			dbv1.RedisClusterStatus{Members: []dbv1.MemberStatus{{Name: "a", Role: dbv1.RoleDown},
				{Name: "b", Role: dbv1.RoleReplica, Ready: true}, {Name: "c", Role: dbv1.RoleReplica}, {Name: "d", Role: dbv1.RolePrimary, Ready: true}}},
			[]string{"a is down", "b is a replica in step", "c is a replica that catches up"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := changes(&dbv1.RedisCluster{Status: c.before}, &dbv1.RedisCluster{Status: c.after})
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestFirstWritesOfASuccessor(t *testing.T) {
	t.Parallel()
	const old, heir = "198.18.128.1:6379", "198.18.128.2:6379"
	ok := func(member string, at, confirmed time.Duration) history.Event {
		return history.Event{Kind: history.KindAdd, Outcome: history.OK, Member: member, Return: at, ConfirmedAt: confirmed}
	}
	cases := map[string]struct {
		events []history.Event
		want   firsts
	}{
		"none yet":                             {nil, firsts{}},
		"answers of the old primary are late":  {[]history.Event{ok(old, 11, 12)}, firsts{}},
		"what was before does not count":       {[]history.Event{ok(heir, 9, 9)}, firsts{}},
		"a refusal is no write":                {[]history.Event{{Outcome: history.Fail, Member: heir, Return: 15}}, firsts{}},
		"accepted, and not confirmed":          {[]history.Event{ok(heir, 20, 0)}, firsts{accepted: 20}},
		"the earliest counts, in whose order":  {[]history.Event{ok(heir, 30, 31), ok(heir, 20, 40)}, firsts{20, 31}},
		"a mark has no member and is no write": {[]history.Event{{Kind: history.KindMark, Outcome: history.OK, Return: 12}}, firsts{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := firstWrites(c.events, 10, old); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
