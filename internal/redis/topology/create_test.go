package topology_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	rs "github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

func TestTheFirstStart(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2}
	const bootstraps = "store Bootstrap  → ? @1"
	fresh := func(changes ...rs.Change) topology.State {
		return rs.Fresh(3, append([]rs.Change{rs.Every(all, rs.Held(0), rs.Empty())}, changes...)...)
	}
	check(t, map[string]row{
		"no pod is there yet": {
			state: rs.Fresh(0, rs.Wanted(3)),
			name:  topology.Creating, why: "Waiting for 3 of 3 members", steps: []string{}, set: 3,
		},
		"the agents wait for their first order: every server is started held": {
			state: rs.Fresh(3),
			name:  topology.Creating, why: "Waiting for 3 of 3 members", steps: []string{"assign Held[db-0 db-1 db-2] @0"},
		},
		"one server has not started: it may bring a volume with data, so nobody is chosen": {
			state: fresh(rs.Member(2, rs.Starting())),
			name:  topology.Creating, why: "Waiting for 1 of 3 members", steps: []string{"assign Held[db-2] @0"},
		},
		"fewer are wanted before anybody has served: the rest is removed at once": {
			state: rs.Fresh(3, rs.Wanted(1)),
			name:  topology.Creating, why: "Waiting for 1 of 1 members", steps: []string{"assign Held[db-0 db-1 db-2] @0"}, set: 1,
		},
		"a pod that cannot start is made again once the spec is taken back (I12)": {
			state: rs.Fresh(3, rs.Member(1, rs.Broken("image"), rs.Outdated("image bad → good"))),
			name:  topology.Creating, why: "Waiting for 3 of 3 members",
			steps: []string{"delete db-1 uid-1", "assign Held[db-0 db-2] @0"},
		},
		"all are held": {
			state: fresh(),
			name:  topology.Bootstrapping, why: "All members have started", steps: []string{bootstraps},
		},
		"begun: everybody is held in the epoch": {
			state: fresh(rs.Bootstrapping(1)),
			name:  topology.Bootstrapping, why: "Waiting for db-0, db-1, db-2", steps: []string{"assign Held[db-0 db-1 db-2] @1"},
		},
	})
}

func TestTheFirstPrimary(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2}
	fresh := func(changes ...rs.Change) topology.State {
		return rs.Fresh(3, append([]rs.Change{rs.Every(all, rs.Held(0), rs.Empty())}, changes...)...)
	}
	old := func(epoch, offset int64) facts.Stored {
		return facts.Stored{Cluster: "before", Epoch: epoch, ReplID: "lineage-old", Offset: offset, Keys: 7}
	}
	check(t, map[string]row{
		"nobody has data: the lowest ordinal leads": {
			state: fresh(rs.Bootstrapping(1), rs.Every(all, rs.Held(1))),
			name:  topology.Bootstrapping, why: "db-0 was elected", steps: []string{"store Bootstrap  → db-0 @1"},
		},
		"one member brings data: it leads, whatever its ordinal": {
			state: fresh(rs.Bootstrapping(1), rs.Every(all, rs.Held(1)), rs.Member(2, rs.Reloaded(old(4, 100)))),
			name:  topology.Bootstrapping, why: "db-2 was elected", steps: []string{"store Bootstrap  → db-2 @1"},
		},
		"all bring data of one origin: the one of the latest epoch leads (20)": {
			state: fresh(rs.Bootstrapping(1), rs.Every(all, rs.Held(1)),
				rs.Member(0, rs.Reloaded(old(4, 300))), rs.Member(1, rs.Reloaded(old(5, 200))), rs.Member(2, rs.Reloaded(old(4, 100)))),
			name: topology.Bootstrapping, why: "db-1 was elected", steps: []string{"store Bootstrap  → db-1 @1"},
		},
		"two bring data of different origin: a person must choose (20)": {
			state: fresh(rs.Bootstrapping(1), rs.Every(all, rs.Held(1)),
				rs.Member(0, rs.Reloaded(old(4, 300))),
				rs.Member(1, rs.Reloaded(facts.Stored{Epoch: 4, ReplID: "lineage-other", Offset: 200, Keys: 7}))),
			name: topology.DivergentData, why: "db-0 and db-1 hold data of different origin", steps: []string{},
		},
		"the same, and a person accepts what may be lost": {
			state: fresh(rs.AcceptLoss(), rs.Bootstrapping(1), rs.Every(all, rs.Held(1)),
				rs.Member(0, rs.Reloaded(old(4, 300))),
				rs.Member(1, rs.Reloaded(facts.Stored{Epoch: 4, ReplID: "lineage-other", Offset: 200, Keys: 7}))),
			name: topology.Bootstrapping, why: "db-0 was elected", steps: []string{"store Bootstrap  → db-0 @1"},
		},
		"a member is missing, and a person accepts what may be lost": {
			state: fresh(rs.AcceptLoss(), rs.Bootstrapping(1), rs.Every(all, rs.Held(1)), rs.Member(1, rs.Reloaded(old(4, 300))), rs.Member(2, rs.Silent(time.Minute))),
			name:  topology.Bootstrapping, why: "db-1 was elected", steps: []string{"store Bootstrap  → db-1 @1"},
		},
		"data without keys is of no origin": {
			state: fresh(rs.Bootstrapping(1), rs.Every(all, rs.Held(1)),
				rs.Member(0, rs.Reloaded(facts.Stored{Epoch: 4, ReplID: "lineage-other", Offset: 300})), rs.Member(1, rs.Reloaded(old(4, 200)))),
			name: topology.Bootstrapping, why: "db-1 was elected", steps: []string{"store Bootstrap  → db-1 @1"},
		},
		"elected and told": {
			state: fresh(rs.Bootstrapping(1), rs.Elected(0), rs.Every(all, rs.Held(1))),
			name:  topology.Bootstrapping, why: "db-0 takes over", steps: []string{"assign Primary[db-0] @1"},
		},
		"serving": {
			state: fresh(rs.Bootstrapping(1), rs.Elected(0), rs.Every(all, rs.Held(1)), rs.Member(0, rs.Serving(1))),
			name:  topology.Bootstrapping, why: "db-0 is primary in epoch 1",
			steps: []string{
				"store primary db-0 @1, sync set [db-1 db-2]", "route db-0 uid-0",
				"assign Primary[db-0] Replica[db-1 db-2] @1", "announce Bootstrapped",
			},
		},
	})
}

func TestWhatIsStoredMayBeWrong(t *testing.T) {
	t.Parallel()
	check(t, map[string]row{
		"the status was lost while a primary serves: it is adopted (17, 19)": {
			state: rs.Settled(3, rs.Forgotten()),
			name:  topology.Creating, why: "db-0 already serves as primary in epoch 5",
			steps: []string{"store primary db-0 @5, sync set [db-1 db-2]"},
		},
		"the status was set back to before a failover: the engine's word counts (17)": {
			state: rs.Settled(3, rs.Served(1, 3)),
			name:  topology.Creating, why: "db-0 already serves as primary in epoch 5",
			steps: []string{"store primary db-0 @5, sync set [db-1 db-2]"},
		},
		"the status was set back into the middle of an earlier failover": {
			state: rs.Settled(3, rs.Served(1, 3), rs.FailingOver(1, 4)),
			name:  topology.Creating, why: "db-0 already serves as primary in epoch 5",
			steps: []string{"store primary db-0 @5, sync set [db-1 db-2]"},
		},
		"two claim to be primary: the later epoch counts (20)": {
			state: rs.Settled(3, rs.Forgotten(), rs.Member(1, rs.Serving(7))),
			name:  topology.Creating, why: "db-1 already serves as primary in epoch 7",
			steps: []string{"store primary db-1 @7, sync set [db-0 db-2]"},
		},
		"one beside the stored primary claims to be primary in no later epoch: it is told to follow (20)": {
			state: rs.Settled(3, rs.Member(1, rs.Serving(4), rs.AtEpoch(4, time.Hour)), rs.Member(0, rs.Detached(1))),
			name:  topology.Joining, why: "Waiting for db-1", steps: []string{"assign Primary[db-0] Replica[db-1 db-2] @5"},
		},
		"the status was lost and nobody serves: the first start is repeated, with all members": {
			state: rs.Settled(3, rs.Forgotten(), rs.RoutedNowhere(), rs.Every([]int{0, 1}, rs.Held(5)), rs.Member(2, rs.Down())),
			name:  topology.Creating, why: "Waiting for 1 of 3 members", steps: []string{"assign Held[db-2] @5"},
		},
		"the same, and fewer are wanted: nobody is removed who may have the data": {
			state: rs.Settled(3, rs.Wanted(1), rs.Forgotten(), rs.RoutedNowhere(), rs.Every([]int{0, 1}, rs.Held(5)), rs.Member(2, rs.Down())),
			name:  topology.Creating, why: "Waiting for 1 of 1 members", steps: []string{"assign Held[db-2] @5"}, set: 3,
		},
		"the same, all held: what a promotion has left behind does not lead": {
			state: rs.Settled(3, rs.Forgotten(), rs.RoutedNowhere(), rs.Bootstrapping(6), rs.Every([]int{0, 1, 2}, rs.Held(6)),
				rs.Member(0, rs.At(5000)), rs.Every([]int{1, 2}, rs.OfLineage("lineage-b", rs.Lineage, 990))),
			name: topology.Bootstrapping, why: "db-1 was elected", steps: []string{"store Bootstrap  → db-1 @6"},
		},
		"a member has seen an epoch above all that is stored: the status was set back, and its primary may be the wrong one (17)": {
			state: rs.Settled(3, rs.Member(1, rs.AtEpoch(8, time.Hour))),
			name:  topology.Bootstrapping, why: "older than what members have seen", steps: []string{"store Bootstrap  → ? @9"},
		},
		"the same in the middle of a failover": {
			state: begun(rs.Member(2, rs.AtEpoch(8, time.Second))),
			name:  topology.Bootstrapping, why: "older than what members have seen", steps: []string{"store Bootstrap  → ? @9"},
		},
		"the same in the middle of a promotion": {
			state: begun(rs.Elected(1), rs.Member(1, rs.Held(6)), rs.Member(2, rs.Held(9))),
			name:  topology.Bootstrapping, why: "older than what members have seen", steps: []string{"store Bootstrap  → ? @10"},
		},
		"the same in the middle of a first start: it goes on above it": {
			state: rs.Fresh(3, rs.Bootstrapping(1), rs.Every([]int{0, 1, 2}, rs.Held(1), rs.Empty()), rs.Member(2, rs.AtEpoch(8, time.Second))),
			name:  topology.Bootstrapping, why: "a test", steps: []string{"store Bootstrap  → ? @9"},
		},
		"the same after the election": {
			state: rs.Fresh(3, rs.Bootstrapping(1), rs.Elected(0), rs.Every([]int{0, 1, 2}, rs.Held(1), rs.Empty()), rs.Member(2, rs.AtEpoch(8, time.Second))),
			name:  topology.Bootstrapping, why: "a test", steps: []string{"store Bootstrap db-0 → ? @9"},
		},
		"the primary has not been told the stored epoch": {
			state: rs.Settled(3, rs.Member(0, rs.AtEpoch(4, time.Hour))),
			name:  topology.FailingOver, why: "db-0 takes its role in epoch 5", steps: []string{"assign Primary[db-0] @5"},
		},
	})
}

func TestEverythingRestartedAtOnce(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2}
	restarted := func(changes ...rs.Change) topology.State {
		base := []rs.Change{rs.FailingOver(0, 6), rs.RoutedNowhere(), rs.Every(all, rs.Reborn(), rs.Held(6))}
		return rs.Settled(3, append(base, changes...)...)
	}
	const elects0, elects2 = "store Failover db-0 → db-0 @6", "store Failover db-0 → db-2 @6"
	check(t, map[string]row{
		"from append-only files: what the primary wrote is never behind its replicas": {
			state: restarted(rs.Member(0, rs.Reloaded(rs.PrimaryNote(1000))), rs.Every([]int{1, 2}, rs.Reloaded(rs.Note(1010)))),
			name:  topology.FailingOver, why: "db-0 was elected", steps: []string{elects0},
		},
		"the same, the primary is not there: a note may be older than what another member confirmed, so it is waited for": {
			state: restarted(rs.Member(0, rs.NoPod()), rs.Member(1, rs.Reloaded(rs.Note(1000))), rs.Member(2, rs.Reloaded(rs.Note(1010)))),
			name:  topology.FailoverBlocked, why: "Waiting for db-0", steps: []string{},
		},
		"the same, and a person accepts the loss: the higher note counts": {
			state: restarted(rs.AcceptLoss(), rs.Member(0, rs.NoPod()), rs.Member(1, rs.Reloaded(rs.Note(1000))), rs.Member(2, rs.Reloaded(rs.Note(1010)))),
			name:  topology.FailingOver, why: "db-2 was elected", steps: []string{elects2},
		},
		"the same, and only one member was in the sync set: it has all that was confirmed": {
			state: restarted(rs.SyncSet(2), rs.Member(0, rs.NoPod()), rs.Member(2, rs.Reloaded(rs.Note(1010)))),
			name:  topology.FailingOver, why: "db-2 was elected", steps: []string{elects2},
		},
		"from snapshots that carry their position: the furthest counts": {
			state: restarted(rs.Member(0, rs.Restored(900, rs.PrimaryNote(1000))), rs.Member(1, rs.Restored(700, rs.Note(1000))), rs.Member(2, rs.Restored(950, rs.Note(1000)))),
			name:  topology.FailingOver, why: "db-2 was elected", steps: []string{elects2},
		},
		"a replica that was not restarted is before all who were": {
			state: restarted(rs.Member(0, rs.Reloaded(rs.PrimaryNote(1020))), rs.Member(1, rs.Reloaded(rs.Note(990))),
				rs.Member(2, func(m *topology.Member) { m.Agent.Facts = rs.Settled(3).Members[2].Agent.Facts }, rs.Held(6))),
			name: topology.FailingOver, why: "db-2 was elected", steps: []string{elects2},
		},
		"unless one that was is known to have had more: it may have confirmed it": {
			state: restarted(rs.Member(0, rs.Reloaded(rs.PrimaryNote(1020))), rs.Member(1, rs.Reloaded(rs.Note(1010))),
				rs.Member(2, func(m *topology.Member) { m.Agent.Facts = rs.Settled(3).Members[2].Agent.Facts }, rs.Held(6))),
			name: topology.FailingOver, why: "db-1 was elected", steps: []string{"store Failover db-0 → db-1 @6"},
		},
		"the primary lost its volume, the replicas have theirs": {
			state: restarted(rs.Member(0, rs.Empty()), rs.Every([]int{1, 2}, rs.Reloaded(rs.Note(1000)))),
			name:  topology.FailingOver, why: "db-1 was elected", steps: []string{"store Failover db-0 → db-1 @6"},
		},
		"all lost their volumes: nothing is begun anew without a person's word (2)": {
			state: restarted(rs.Every(all, rs.Empty())),
			name:  topology.FailoverBlocked, why: "Waiting for db-0", steps: []string{},
		},
		"the same, and a person says so": {
			state: restarted(rs.Every(all, rs.Empty()), rs.AcceptLoss()),
			name:  topology.FailingOver, why: "db-0 was elected", steps: []string{elects0},
		},
		"the same without volumes: no copy can come back, so it goes on empty": {
			state: restarted(rs.Every(all, rs.Empty()), rs.Ephemeral()),
			name:  topology.FailingOver, why: "db-0 was elected", steps: []string{elects0},
		},
		"without volumes, one member is still to come": {
			state: restarted(rs.Every(all, rs.Empty()), rs.Member(2, rs.Starting()), rs.Ephemeral()),
			name:  topology.FailingOver, why: "Waiting for db-2", steps: []string{"assign Held[db-2] @6"},
		},
		"without volumes, a member that is to be removed has not been heard": {
			state: restarted(rs.Every(all, rs.Empty()), rs.Member(2, rs.Silent(time.Minute)), rs.Wanted(2), rs.Ephemeral()),
			name:  topology.FailoverBlocked, why: "Waiting for db-2", steps: []string{},
		},
		"without volumes, a member that still has something leads": {
			state: restarted(rs.Every([]int{0, 1}, rs.Empty()), rs.Member(2, rs.At(400), rs.OfLineage("lineage-z", "", 0), rs.Keyed(3)), rs.Ephemeral()),
			name:  topology.FailingOver, why: "db-2 was elected", steps: []string{elects2},
		},
		"nobody ever had data: the primary leads again": {
			state: restarted(rs.Every(all, rs.Empty(), rs.Reloaded(facts.Stored{Cluster: rs.Cluster, Epoch: 5, ReplID: "lineage-n"}))),
			name:  topology.FailingOver, why: "db-0 was elected", steps: []string{elects0},
		},
	})
}

func TestASingleMember(t *testing.T) {
	t.Parallel()
	held := func(changes ...rs.MemberChange) topology.State {
		return rs.Settled(1, rs.FailingOver(0, 6), rs.RoutedNowhere(), rs.Member(0, append([]rs.MemberChange{rs.Held(6)}, changes...)...))
	}
	const leads = "store Failover db-0 → db-0 @6"
	check(t, map[string]row{
		"serves": {
			state: rs.Settled(1),
			name:  topology.Settled, why: "Every member serves", steps: []string{"assign Primary[db-0] @5"},
		},
		"its process was killed": {
			state: rs.Settled(1, rs.Member(0, rs.Down())),
			name:  topology.FailingOver, why: "is down", steps: []string{begins, started},
		},
		"it reloaded its data": {
			state: held(rs.Reloaded(rs.PrimaryNote(0))),
			name:  topology.FailingOver, why: "db-0 was elected", steps: []string{leads},
		},
		"it never had any data": {
			state: held(rs.Reloaded(facts.Stored{Cluster: rs.Cluster, Epoch: 5, WasPrimary: true, ReplID: "lineage-n"})),
			name:  topology.FailingOver, why: "db-0 was elected", steps: []string{leads},
		},
		"it restored an older snapshot: nobody else ever confirmed anything": {
			state: held(rs.Restored(900, rs.PrimaryNote(1000))),
			name:  topology.FailingOver, why: "db-0 was elected", steps: []string{leads},
		},
		"its volume is empty": {
			state: held(rs.Empty()),
			name:  topology.FailoverBlocked, why: "Waiting for db-0", steps: []string{},
		},
		"it has no volume": {
			state: rs.Changed(held(rs.Empty()), rs.Ephemeral()),
			name:  topology.FailingOver, why: "db-0 was elected", steps: []string{leads},
		},
		"its node is out of reach: nobody can tell": {
			state: rs.Settled(1, rs.Member(0, rs.Silent(time.Hour))),
			name:  topology.PrimaryUnknown, why: "nor any member that could tell", steps: []string{},
		},
	})
}
