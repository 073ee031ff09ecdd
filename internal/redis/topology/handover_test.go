package topology_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	rs "github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

func TestWhenAPrimaryIsRelieved(t *testing.T) {
	t.Parallel()
	const begins = "store HandOver db-0 → db-1 @6"
	const announced = "announce HandOverStarted"
	const stays = "assign Replica[db-1 db-2] @5"
	check(t, map[string]row{
		"its pod got the signal to end": {
			state: rs.Settled(3, rs.Member(0, rs.Stopping())),
			name:  topology.HandingOver, why: "being stopped", steps: []string{begins, announced},
		},
		"its pod was evicted and the signal is on its way": {
			state: rs.Settled(3, rs.Member(0, rs.Terminating())),
			name:  topology.HandingOver, why: "being stopped", steps: []string{begins, announced},
		},
		"the replica that is not about to stop takes over (22)": {
			state: rs.Settled(3, rs.Member(0, rs.Stopping()), rs.Member(1, rs.Stopping())),
			name:  topology.HandingOver, why: "being stopped", steps: []string{"store HandOver db-0 → db-2 @6", announced},
		},
		"the one that is made from the present spec takes over": {
			state: rs.Settled(3, rs.Member(0, rs.Stopping()), rs.Member(1, rs.Outdated("image a → b"), rs.At(1100))),
			name:  topology.HandingOver, why: "being stopped", steps: []string{"store HandOver db-0 → db-2 @6", announced},
		},
		"the one closest behind takes over": {
			state: rs.Settled(3, rs.Member(0, rs.Stopping()), rs.Member(1, rs.At(900))),
			name:  topology.HandingOver, why: "being stopped", steps: []string{"store HandOver db-0 → db-2 @6", announced},
		},
		"no replica is in step: it goes on until it ends (5, 8)": {
			state: rs.Settled(3, rs.Member(0, rs.Stopping()), rs.Every([]int{1, 2}, rs.Synchronising())),
			name:  topology.Joining, why: "Waiting for db-1, db-2", steps: []string{stays},
		},
		"the last hand-over failed a moment ago": {
			state: rs.Settled(3, rs.Member(0, rs.Stopping()), rs.HandOverPaused(20*time.Second)),
			name:  topology.Settled, why: "Every member serves", steps: []string{stays}, wake: 20 * time.Second,
		},
	})
}

// handing is a hand-over that was stored.
func handing(changes ...rs.Change) topology.State {
	return rs.Settled(3, append([]rs.Change{rs.HandingOver(0, 1, 6), rs.RoutedNowhere()}, changes...)...)
}

// swapped is one that the engine has carried out.
func swapped(changes ...rs.Change) topology.State {
	base := []rs.Change{
		rs.Member(0, rs.AtEpoch(6, time.Second), rs.Following(1), rs.OfLineage("lineage-b", rs.Lineage, rs.Offset), rs.Alone()),
		rs.Member(1, rs.Serving(5), rs.OfLineage("lineage-b", rs.Lineage, rs.Offset), rs.Confirmed(0, rs.Offset)),
	}
	return handing(append(base, changes...)...)
}

func TestHowAHandOverGoesOn(t *testing.T) {
	t.Parallel()
	const order = "hand over db-0 → db-1 @6"
	check(t, map[string]row{
		"just stored: the route is taken away before the engine moves the role (24)": {
			state: handing(rs.Routed(0)),
			name:  topology.HandingOver, why: "a test", steps: []string{"route nowhere", order},
		},
		"the order is repeated after a restart of the manager": {
			state: handing(),
			name:  topology.HandingOver, why: "a test", steps: []string{order},
		},
		"the engine has swapped the two: the new primary is confirmed, stored, routed, followed": {
			state: swapped(),
			name:  topology.HandingOver, why: "db-1 is primary in epoch 6",
			steps: []string{
				"assign Primary[db-1] @6", "store primary db-1 @6, sync set [db-0 db-2]", "route db-1 uid-1",
				"assign Primary[db-1] Replica[db-0 db-2] @6", "announce HandOverCompleted",
			},
		},
		"the same, and the new primary was told already": {
			state: swapped(rs.Member(1, rs.AtEpoch(6, time.Second))),
			name:  topology.HandingOver, why: "db-1 is primary in epoch 6",
			steps: []string{
				"store primary db-1 @6, sync set [db-0 db-2]", "route db-1 uid-1",
				"assign Primary[db-1] Replica[db-0 db-2] @6", "announce HandOverCompleted",
			},
		},
		"the former primary was restarted after the swap": {
			state: swapped(rs.Member(0, rs.Down())),
			name:  topology.HandingOver, why: "db-1 is primary in epoch 6",
			steps: []string{
				"assign Primary[db-1] @6", "store primary db-1 @6, sync set [db-0 db-2]", "route db-1 uid-1",
				"assign Primary[db-1] Replica[db-2] Held[db-0] @6", "announce HandOverCompleted",
			},
		},
		"the engine is in the middle of it, and may still go back": {
			state: swapped(rs.Member(0, rs.HandingOverInEngine("failover-in-progress"))),
			name:  topology.HandingOver, why: "Waiting for db-1 to take over", steps: []string{}, wake: rs.Detection,
		},
		"the former primary follows already and the new one does not say that it leads": {
			state: handing(rs.Member(0, rs.AtEpoch(6, time.Second), rs.Following(1), rs.HandingOverInEngine("failover-in-progress"))),
			name:  topology.HandingOver, why: "Waiting for db-1 to take over", steps: []string{}, wake: rs.Detection,
		},
	})
}

func TestAHandOverIsGivenUp(t *testing.T) {
	t.Parallel()
	check(t, map[string]row{
		"the engine went back and both lead: the stored primary stays": {
			state: swapped(rs.Member(0, rs.Serving(6))),
			name:  topology.HandingOver, why: "db-0 stays primary",
			steps: []string{
				"store primary db-0 @6, sync set [db-1 db-2]", "assign Primary[db-0] @6", "route db-0 uid-0", "announce HandOverGivenUp",
			},
		},
		"the engine refused three times: it stays, in the epoch that it may have seen": {
			state: handing(rs.HandOverFailed(3)),
			name:  topology.HandingOver, why: "db-0 stays primary",
			steps: []string{
				"store primary db-0 @6, sync set [db-1 db-2]", "assign Primary[db-0] @6", "route db-0 uid-0", "announce HandOverGivenUp",
			},
		},
		"the candidate died before the swap": {
			state: handing(rs.Member(1, rs.Down())),
			name:  topology.HandingOver, why: "db-0 stays primary",
			steps: []string{
				"store primary db-0 @6, sync set [db-1 db-2]", "assign Primary[db-0] @6", "route db-0 uid-0", "announce HandOverGivenUp",
			},
		},
		"the candidate's pod was replaced before the swap": {
			state: handing(rs.Member(1, rs.Reborn())),
			name:  topology.HandingOver, why: "db-0 stays primary",
			steps: []string{
				"store primary db-0 @6, sync set [db-1 db-2]", "assign Primary[db-0] @6", "route db-0 uid-0", "announce HandOverGivenUp",
			},
		},
	})
}

func TestAHandOverIsInterrupted(t *testing.T) {
	t.Parallel()
	const lost = "store Failover db-0 → ? @7"
	check(t, map[string]row{
		"the candidate died after the swap": {
			state: swapped(rs.Member(1, rs.Down())),
			name:  topology.HandingOver, why: "db-1 was lost while it took over", steps: []string{"store Failover db-1 → ? @7"},
		},
		"the primary died before the swap": {
			state: handing(rs.Member(0, rs.Down())),
			name:  topology.HandingOver, why: "db-0 was lost", steps: []string{lost},
		},
		"the primary's pod is gone": {
			state: handing(rs.Member(0, rs.NoPod())),
			name:  topology.HandingOver, why: "db-0 was lost", steps: []string{lost},
		},
		"the primary has been silent for a moment": {
			state: handing(rs.Member(0, rs.Silent(time.Second))),
			name:  topology.HandingOver, why: "Waiting for db-0", steps: []string{}, wake: 2 * time.Second,
		},
		"the primary has been silent for the time of detection": {
			state: handing(rs.Member(0, rs.Silent(rs.Detection))),
			name:  topology.HandingOver, why: "db-0 was lost", steps: []string{lost},
		},
		"the primary is silent after the swap and its lease may hold": {
			state: swapped(rs.Member(0, rs.Silent(time.Second))),
			name:  topology.HandingOver, why: "Waiting for db-0", steps: []string{}, wake: 2 * time.Second,
		},
		"both are replicas: the swap was cut in two by restarts": {
			state: handing(rs.Member(0, rs.AtEpoch(6, time.Second), rs.Following(1)), rs.Member(1, rs.Held(5))),
			name:  topology.HandingOver, why: "was interrupted", steps: []string{lost},
		},
	})
}
