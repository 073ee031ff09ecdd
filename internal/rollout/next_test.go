package rollout_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/rollout"
)

var newImage = []rollout.Reason{"image redis:8.0 → redis:8.2"}

// member builders: each case says only what matters to it.
type change func(*rollout.Member)

func primary(m *rollout.Member)    { m.Primary = true }
func outdated(m *rollout.Member)   { m.Outdated = newImage }
func unhealthy(m *rollout.Member)  { m.Healthy = false }
func broken(m *rollout.Member)     { m.Healthy, m.Broken = false, true }
func gone(m *rollout.Member)       { m.Healthy, m.Gone = false, true }
func lagging(bytes int64) change   { return func(m *rollout.Member) { m.LagBytes = &bytes } }
func lagUnknown(m *rollout.Member) { m.LagBytes = nil }

func member(ordinal int, changes ...change) rollout.Member {
	m := rollout.Member{Name: "shop-" + string(rune('0'+ordinal)), Ordinal: ordinal, Healthy: true, LagBytes: new(int64)}
	for _, c := range changes {
		c(&m)
	}
	return m
}

func automatic(members ...rollout.Member) rollout.Input {
	return rollout.Input{Members: members, Wanted: len(members), Strategy: rollout.Automatic}
}

func with(in rollout.Input, change func(*rollout.Input)) rollout.Input {
	change(&in)
	return in
}

func supervised(in *rollout.Input)   { in.Strategy = rollout.Supervised }
func approved(in *rollout.Input)     { in.Approved = true }
func volatileData(in *rollout.Input) { in.Volatile = true }

type nextCase struct {
	in     rollout.Input
	kind   rollout.Kind
	member string
	reason string
}

func TestNextInAHealthyCluster(t *testing.T) {
	t.Parallel()
	check(t, map[string]nextCase{
		"nothing is outdated": {
			automatic(member(0, primary), member(1)), rollout.Done, "", "every member is current",
		},
		"an unhealthy member that is current is not the roll's business": {
			automatic(member(0, primary), member(1, broken)), rollout.Done, "", "",
		},
		"the replica of the highest ordinal goes first": {
			automatic(member(0, primary, outdated), member(1, outdated), member(2, outdated)), rollout.Replace, "shop-2", "image redis:8.0 → redis:8.2",
		},
		"a lagging replica goes before one in step": {
			automatic(member(0, primary, outdated), member(1, outdated, lagging(4096)), member(2, outdated)), rollout.Replace, "shop-1", "",
		},
		"an unknown lag counts as the longest": {
			automatic(member(0, primary, outdated), member(1, outdated, lagUnknown), member(2, outdated, lagging(4096))), rollout.Replace, "shop-1", "",
		},
		"the primary is handed over once it alone is left": {
			automatic(member(0), member(1, primary, outdated), member(2)), rollout.HandOver, "shop-1", "image redis:8.0 → redis:8.2",
		},
		"the former primary is then a replica like any other": {
			automatic(member(0, primary), member(1, outdated), member(2)), rollout.Replace, "shop-1", "",
		},
		"a member alone is restarted in place": {
			automatic(member(0, primary, outdated)), rollout.Replace, "shop-0", "",
		},
		"a member alone with volatile data needs approval": {
			with(automatic(member(0, primary, outdated)), volatileData), rollout.AwaitApproval, "shop-0", "only copy",
		},
		"and is restarted when approved": {
			with(with(automatic(member(0, primary, outdated)), volatileData), approved), rollout.Replace, "shop-0", "",
		},
		"supervised: replicas need no approval": {
			with(automatic(member(0, primary, outdated), member(1, outdated)), supervised), rollout.Replace, "shop-1", "",
		},
		"supervised: the primary waits for approval": {
			with(automatic(member(0, primary, outdated), member(1)), supervised), rollout.AwaitApproval, "shop-0", "waits for approval",
		},
		"supervised: the approved primary is handed over": {
			with(with(automatic(member(0, primary, outdated), member(1)), supervised), approved), rollout.HandOver, "shop-0", "",
		},
	})
}

func TestNextInTrouble(t *testing.T) {
	t.Parallel()
	check(t, map[string]nextCase{
		"an unhealthy current member holds the roll": {
			automatic(member(0, primary, outdated), member(1, unhealthy), member(2, outdated)), rollout.Wait, "", "shop-1 is not healthy",
		},
		"the only unhealthy member goes first if it is outdated": {
			automatic(member(0, primary, outdated), member(1, outdated, unhealthy), member(2, outdated)), rollout.Replace, "shop-1", "",
		},
		"two unhealthy members hold the roll": {
			automatic(member(0, primary, outdated), member(1, outdated, unhealthy), member(2, outdated, unhealthy)), rollout.Wait, "", "is not healthy",
		},
		"an unhealthy primary holds the roll": {
			automatic(member(0, primary, outdated, unhealthy), member(1, outdated)), rollout.Wait, "", "shop-0 is not healthy",
		},
		"an unhealthy primary is not handed over": {
			automatic(member(0, primary, outdated, unhealthy), member(1)), rollout.Wait, "", "primary shop-0 is not healthy",
		},
		"nobody is primary": {
			automatic(member(0, outdated), member(1, outdated)), rollout.Wait, "", "0 members are primary",
		},
		"a member is missing": {
			with(automatic(member(0, primary, outdated), member(1, outdated)), func(in *rollout.Input) { in.Wanted = 3 }), rollout.Wait, "", "2 of 3",
		},
		"a pod is on its way out": {
			automatic(member(0, primary, outdated), member(1, gone), member(2, outdated)), rollout.Wait, "", "shop-1 is on its way out",
		},
		"a broken member of the current spec stops the roll": {
			automatic(member(0, primary, outdated), member(1, outdated), member(2, broken)), rollout.Wait, "", "shop-2 cannot come up with the current spec",
		},
		"a bad spec taken back heals: the broken outdated member goes at once": {
			automatic(member(0, primary), member(1), member(2, broken, outdated)), rollout.Replace, "shop-2", "cannot come up and is outdated",
		},
		"even while others are unhealthy, missing, and nobody is primary": {
			with(automatic(member(0, unhealthy), member(1, broken, outdated)), func(in *rollout.Input) { in.Wanted = 5 }), rollout.Replace, "shop-1", "",
		},
		"even while another pod goes": {
			automatic(member(0, primary), member(1, gone), member(2, broken, outdated)), rollout.Replace, "shop-2", "",
		},
		"but it is not deleted twice": {
			automatic(member(0, primary), member(1), member(2, broken, outdated, gone)), rollout.Wait, "", "shop-2 is on its way out",
		},
		"of several broken ones the primary comes last": {
			automatic(member(0, outdated, broken), member(1, primary, outdated, broken)), rollout.Replace, "shop-0", "",
		},
	})
}

func check(t *testing.T, cases map[string]nextCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rollout.Next(c.in)
			if got.Kind != c.kind || got.Member != c.member || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("got %s %s (%s), want %s %s (%s)", got.Kind, got.Member, got.Reason, c.kind, c.member, c.reason)
			}
			if got.Reason == "" {
				t.Error("no reason is given")
			}
		})
	}
}
