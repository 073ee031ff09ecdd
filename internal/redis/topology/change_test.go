package topology_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	rs "github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

const told = "assign Primary[db-0] Replica[db-1 db-2] @5"

func TestScaling(t *testing.T) {
	t.Parallel()
	surplus := func(changes ...rs.Change) topology.State {
		return rs.Settled(5, append([]rs.Change{rs.Wanted(3)}, changes...)...)
	}
	const all5 = "assign Primary[db-0] Replica[db-1 db-2 db-3 db-4] @5"
	check(t, map[string]row{
		"out: the StatefulSet grows": {
			state: rs.Settled(3, rs.Wanted(5)),
			name:  topology.Joining, why: "a member to be created", steps: []string{told}, set: 5,
		},
		"in: the primary stays and every stayer is in step": {
			state: surplus(),
			name:  topology.Scaling, why: "Removing members: 5 → 3", steps: []string{all5}, set: 3,
		},
		"3 → 5 → 3 before the 5 was seen: as if it had never been": {
			state: rs.Settled(3),
			name:  topology.Settled, why: "Every member serves", steps: []string{told}, set: 3,
		},
		"in: a stayer is not in step": {
			state: surplus(rs.Member(2, rs.Synchronising())),
			name:  topology.Scaling, why: "Waiting for db-2", steps: []string{all5}, set: 5,
		},
		"in: the primary is among the leavers: the role moves first (27)": {
			state: rs.Settled(3, rs.Wanted(1), primaryIs2),
			name:  topology.HandingOver, why: "db-2 is to be removed",
			steps: []string{"assign Primary[db-2] Replica[db-0 db-1] @5", "store HandOver db-2 → db-0 @6", "announce HandOverStarted"}, set: 3,
		},
		"in: the primary is among the leavers and no stayer is in step (27)": {
			state: rs.Settled(3, rs.Wanted(1), primaryIs2, rs.Member(0, rs.Synchronising())),
			name:  topology.Scaling, why: "waiting for a replica that can take over",
			steps: []string{"assign Primary[db-2] Replica[db-0 db-1] @5"}, set: 3,
		},
		"in: a pod is still stopping": {
			state: rs.Settled(3, rs.Surplus(3), rs.SyncSet(1, 2, 3)),
			name:  topology.Scaling, why: "surplus members to stop", steps: []string{"assign Primary[db-0] Replica[db-1 db-2 db-3] @5"}, set: 3,
		},
		"a failover is under way: nothing is removed (28)": {
			state: surplus(rs.FailingOver(0, 6), rs.Member(0, rs.Down()), rs.RoutedNowhere(), rs.Every([]int{1, 2, 3, 4}, rs.Held(6))),
			name:  topology.FailingOver, why: "db-1 was elected", steps: []string{"assign Held[db-0] @6", "store Failover db-0 → db-1 @6"}, set: 5,
		},
	})
}

// primaryIs2 makes db-2 the primary of three.
func primaryIs2(s *topology.State) {
	rs.Served(2, rs.Epoch)(s)
	rs.SyncSet(0, 1)(s)
	rs.Routed(2)(s)
	rs.Member(0, rs.Following(2), rs.Alone())(s)
	rs.Member(1, rs.Following(2))(s)
	rs.Member(2, rs.Serving(rs.Epoch), rs.Confirmed(0, rs.Offset), rs.Confirmed(1, rs.Offset))(s)
}

func TestRestarts(t *testing.T) {
	t.Parallel()
	const why = "image redis:8.0.5 → redis:8.0.6"
	outdated := rs.Every([]int{0, 1, 2}, rs.Outdated(why))
	check(t, map[string]row{
		"all are outdated: a replica first, one at a time (4)": {
			state: rs.Settled(3, outdated, rs.Member(1, rs.At(990))),
			name:  topology.Rolling, why: why, steps: []string{told, "delete db-1 uid-1"},
		},
		"one is being restarted: the next waits until it is in step (5, 6)": {
			state: rs.Settled(3, rs.Every([]int{0, 2}, rs.Outdated(why)), rs.Member(0, rs.Detached(1)), rs.Member(1, rs.Reborn()), rs.SyncSet(2)),
			name:  topology.Joining, why: "Waiting for db-1", steps: []string{"assign Primary[db-0] Replica[db-2] Held[db-1] @5"},
		},
		"one synchronises (5, 6)": {
			state: rs.Settled(3, rs.Every([]int{0, 2}, rs.Outdated(why)), rs.Member(1, rs.Synchronising())),
			name:  topology.Joining, why: "Waiting for db-1", steps: []string{told},
		},
		"the primary is the last: its role moves": {
			state: rs.Settled(3, rs.Member(0, rs.Outdated(why))),
			name:  topology.HandingOver, why: why, steps: []string{told, "store HandOver db-0 → db-1 @6", "announce HandOverStarted"},
		},
		"a hand-over failed a moment ago": {
			state: rs.Settled(3, rs.Member(0, rs.Outdated(why)), rs.HandOverPaused(20*time.Second)),
			name:  topology.Rolling, why: "the last hand-over failed", steps: []string{told}, wake: 20 * time.Second,
		},
		"the primary waits for a person's approval": {
			state: rs.Settled(3, rs.Member(0, rs.Outdated(why)), rs.Supervised()),
			name:  topology.AwaitingConsent, why: why, steps: []string{told},
		},
		"approved": {
			state: rs.Settled(3, rs.Member(0, rs.Outdated(why)), rs.Supervised(), rs.Approved()),
			name:  topology.HandingOver, why: why, steps: []string{told, "store HandOver db-0 → db-1 @6", "announce HandOverStarted"},
		},
		"a bad image stops after one pod": {
			state: rs.Settled(3, rs.Every([]int{0, 2}, rs.Outdated(why)), rs.SyncSet(2), rs.Member(0, rs.Detached(1)), rs.Member(1, rs.Broken("image"))),
			name:  topology.Joining, why: "Waiting for db-1", steps: []string{"assign Primary[db-0] Replica[db-2] @5"},
		},
		"the spec is taken back: the broken pod is made again (39, I12)": {
			state: rs.Settled(3, rs.SyncSet(2), rs.Member(0, rs.Detached(1)), rs.Member(1, rs.Broken("image"), rs.Outdated("image bad → good"))),
			name:  topology.Rolling, why: "cannot come up and is outdated",
			steps: []string{"assign Primary[db-0] Replica[db-2] @5", "delete db-1 uid-1"},
		},
		"a single member with a volume is restarted": {
			state: rs.Settled(1, rs.Member(0, rs.Outdated(why))),
			name:  topology.Rolling, why: why, steps: []string{"assign Primary[db-0] @5", "delete db-0 uid-0"},
		},
		"a single member without a volume is not, unless a person approves": {
			state: rs.Settled(1, rs.Member(0, rs.Outdated(why)), rs.Ephemeral()),
			name:  topology.AwaitingConsent, why: "only copy", steps: []string{"assign Primary[db-0] @5"},
		},
		"a replica lives on after its pod was deleted: one disruption at a time (I8)": {
			state: rs.Settled(3, outdated, rs.GhostConnected(1), rs.Member(1, func(m *topology.Member) { m.Pod.UID = "uid-1-new" })),
			name:  topology.Settled, why: "Every member serves", steps: []string{told, "kill db-1 uid-1 @5"},
		},
	})
}
