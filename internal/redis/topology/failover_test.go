package topology_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	rs "github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

const (
	begins  = "store Failover db-0 → ? @6"
	started = "announce FailoverStarted"
	nowhere = "route nowhere"
)

func TestWhenAFailoverBegins(t *testing.T) {
	t.Parallel()
	check(t, map[string]row{
		"the primary's server is down": {
			state: rs.Settled(3, rs.Member(0, rs.Down())),
			name:  topology.FailingOver, why: "The server of db-0 is down.", steps: []string{begins, started},
		},
		"the primary's server was restarted and loads its data": {
			state: rs.Settled(3, rs.Member(0, rs.Starting())),
			name:  topology.FailingOver, why: "was restarted", steps: []string{begins, started},
		},
		"the primary's container was restarted (7, 18: it comes back held and is not primary by itself)": {
			state: rs.Settled(3, rs.Member(0, rs.Held(5))),
			name:  topology.FailingOver, why: "not primary any more", steps: []string{begins, started},
		},
		"the primary ended in order": {
			state: rs.Settled(3, rs.Member(0, rs.Final())),
			name:  topology.FailingOver, why: "was stopped", steps: []string{begins, started},
		},
		"the primary's server has been frozen for a moment": {
			state: rs.Settled(3, rs.Member(0, rs.Unresponsive(time.Second))),
			name:  topology.PrimarySuspect, why: "does not answer", steps: []string{}, wake: 2 * time.Second,
		},
		"the primary's server has been frozen for the time of detection": {
			state: rs.Settled(3, rs.Member(0, rs.Unresponsive(rs.Detection))),
			name:  topology.FailingOver, why: "has not answered for 3s", steps: []string{begins, started},
		},
		"the primary's stream broke a moment ago": {
			state: rs.Settled(3, rs.Member(0, rs.Silent(time.Second))),
			name:  topology.PrimarySuspect, why: "broke", steps: []string{}, wake: 2 * time.Second,
		},
	})
}

func TestWhoHearsThePrimary(t *testing.T) {
	t.Parallel()
	const long = 10 * time.Second
	everyoneApart := rs.CutFromEachOther([]int{0}, []int{1, 2}, long)
	check(t, map[string]row{
		"the primary's node lost its power: nobody hears it (23: the partial view is enough)": {
			state: rs.Settled(3, rs.Member(0, rs.Silent(rs.Detection)), everyoneApart, rs.Every([]int{1, 2}, rs.LastHeard(rs.Detection))),
			name:  topology.FailingOver, why: "any other member has heard", steps: []string{begins, started},
		},
		"the primary is cut off from the operator only: it stays": {
			state: rs.Settled(3, rs.Member(0, rs.Silent(long))),
			name:  topology.PrimaryUnknown, why: "cannot reach db-0, but db-1 can", steps: []string{}, wake: 2800 * time.Millisecond,
		},
		"the primary is cut off from the operator and one replica only: the other still hears it": {
			state: rs.Settled(3, rs.Member(0, rs.Silent(long)), rs.CutFromEachOther([]int{0}, []int{1}, long), rs.Member(1, rs.LinkDown())),
			name:  topology.PrimaryUnknown, why: "cannot reach db-0, but db-2 can", steps: []string{}, wake: 2800 * time.Millisecond,
		},
		"the agents lost each other and the replica's server still hears the primary": {
			state: rs.Settled(2, rs.Member(0, rs.Silent(long)), rs.CutFromEachOther([]int{0}, []int{1}, long)),
			name:  topology.PrimaryUnknown, why: "but db-1 can", steps: []string{}, wake: time.Second,
		},
		"the operator is alone: nothing is known": {
			state: rs.Settled(3, rs.Every([]int{0, 1, 2}, rs.Silent(long))),
			name:  topology.PrimaryUnknown, why: "nor any member that could tell", steps: []string{},
		},
		"the operator is on the smaller side with one replica: the larger side keeps its primary": {
			state: rs.Settled(3, rs.Every([]int{0, 1}, rs.Silent(long)), rs.CutFromEachOther([]int{0, 1}, []int{2}, long), rs.Member(2, rs.LinkDown())),
			name:  topology.PrimaryUnknown, why: "nor db-1, which may hold confirmed writes", steps: []string{},
		},
		"the same, and a person accepts what may be lost": {
			state: rs.Settled(3, rs.Every([]int{0, 1}, rs.Silent(long)), rs.CutFromEachOther([]int{0, 1}, []int{2}, long), rs.Member(2, rs.LinkDown()), rs.AcceptLoss()),
			name:  topology.FailingOver, why: "Neither the operator", steps: []string{begins, started},
		},
		"the primary is cut off from all members, which reach each other": {
			state: rs.Settled(3, rs.Member(0, rs.Alone()), rs.Every([]int{1, 2}, rs.LinkDown()), everyoneApart),
			name:  topology.FailingOver, why: "No other member can reach db-0", steps: []string{begins, started},
		},
		"the same a moment after its promotion: it may have been cut off before and not now": {
			state: rs.Settled(3, rs.Member(0, rs.Alone(), rs.AtEpoch(5, time.Second)), rs.Every([]int{1, 2}, rs.LinkDown()), everyoneApart),
			name:  topology.Joining, why: "Waiting for db-1, db-2", wake: time.Second,
			steps: []string{"assign Primary[db-0] Replica[db-1 db-2] @5"},
		},
		"one replica of two is cut off from the primary: nothing to fail over": {
			state: rs.Settled(3, rs.Member(0, rs.Detached(1)), rs.Member(1, rs.LinkDown()), rs.CutFromEachOther([]int{0}, []int{1}, long)),
			name:  topology.Joining, why: "Waiting for db-1", steps: []string{"assign Primary[db-0] Replica[db-1 db-2] @5"},
		},
		"the only replica and the primary are cut off from each other: nobody can say who is": {
			state: rs.Settled(2, rs.Member(0, rs.Alone()), rs.Member(1, rs.LinkDown()), rs.CutFromEachOther([]int{0}, []int{1}, long)),
			name:  topology.Joining, why: "Waiting for db-1", steps: []string{"assign Primary[db-0] Replica[db-1] @5"},
		},
		"members that were never in touch are not cut off: the cluster has just begun": {
			state: rs.Settled(3, rs.Member(0, rs.Alone()), rs.Every([]int{1, 2}, rs.LinkDown()), rs.CutFromEachOther([]int{0}, []int{1, 2}, -1)),
			name:  topology.Joining, why: "Waiting for db-1, db-2", wake: rs.Detection,
			steps: []string{"assign Primary[db-0] Replica[db-1 db-2] @5"},
		},
	})
}

func TestThePrimaryVanished(t *testing.T) {
	t.Parallel()
	check(t, map[string]row{
		"the primary's pod was force-deleted and its server lives": {
			state: rs.Settled(3, rs.Member(0, rs.NoPod()), rs.GhostConnected(0)),
			name:  topology.FailingOver, why: "was deleted while its server runs on", steps: []string{begins, started},
		},
		"the primary's pod was force-deleted and replaced, the old one is silent": {
			state: rs.Settled(3, rs.Member(0, rs.Reborn()), rs.GhostSilent(0, time.Second)),
			name:  topology.FailingOver, why: "is gone, without word from its server", steps: []string{begins, started},
		},
		"the primary's pod is gone and said goodbye": {
			state: rs.Settled(3, rs.Member(0, rs.NoPod()), rs.GhostDead(0)),
			name:  topology.FailingOver, why: "its server was stopped", steps: []string{begins, started},
		},
		"all pods are gone at once": {
			state: rs.Settled(3, rs.Every([]int{0, 1, 2}, rs.NoPod())),
			name:  topology.FailingOver, why: "is gone", steps: []string{begins, started},
		},
		"the operator was just started and the primary's agent has not called yet": {
			state: rs.Settled(3, rs.Member(0, rs.Unheard(time.Second)), rs.WatchedFor(time.Second)),
			name:  topology.PrimarySuspect, why: "waiting", steps: []string{}, wake: 2 * time.Second,
		},
	})
}

const (
	electsOne = "store Failover db-0 → db-1 @6"
	electsTwo = "store Failover db-0 → db-2 @6"
)

// begun is a failover that was just stored, away from a primary whose server is down.
func begun(changes ...rs.Change) topology.State {
	return rs.Settled(3, append([]rs.Change{rs.FailingOver(0, 6), rs.RoutedNowhere(), rs.Member(0, rs.Down())}, changes...)...)
}

func TestHowAFailoverGoesOn(t *testing.T) {
	t.Parallel()
	heldOthers := rs.Every([]int{1, 2}, rs.Held(6))
	check(t, map[string]row{
		"just stored, the primary is down: its route stays until another takes it over, everybody who speaks is held": {
			state: begun(rs.Routed(0)),
			name:  topology.FailingOver, why: "Waiting for db-1, db-2",
			steps: []string{"assign Held[db-0 db-1 db-2] @6"},
		},
		"the former primary came back, held, before another was elected: it is in no Service": {
			state: begun(rs.Routed(0), rs.Member(0, rs.Held(6))),
			name:  topology.FailingOver, why: "Waiting for db-1, db-2",
			steps: []string{nowhere, "assign Held[db-1 db-2] @6"},
		},
		"just stored, the primary still serves: the route is taken away first, then everybody is held (24)": {
			state: begun(rs.Routed(0), rs.Member(0, rs.Serving(5))),
			name:  topology.FailingOver, why: "Waiting for db-1, db-2",
			steps: []string{nowhere, "assign Held[db-0 db-1 db-2] @6"},
		},
		"the replicas are held and the primary is down: the one that reaches further is elected (8, 20)": {
			state: begun(heldOthers, rs.Member(2, rs.At(1010))),
			name:  topology.FailingOver, why: "db-2 was elected",
			steps: []string{"assign Held[db-0] @6", electsTwo},
		},
		"of two that reach equally far the one that needs no restart is elected": {
			state: begun(heldOthers, rs.Member(1, rs.Outdated("image a → b"))),
			name:  topology.FailingOver, why: "db-2 was elected",
			steps: []string{"assign Held[db-0] @6", electsTwo},
		},
		"one member of the sync set does not speak: it may hold a confirmed write": {
			state: begun(rs.Member(1, rs.Held(6)), rs.Member(2, rs.Silent(time.Second))),
			name:  topology.FailoverBlocked, why: "Waiting for db-2",
			steps: []string{"assign Held[db-0] @6"},
		},
		"the same, and a person accepts the loss": {
			state: begun(rs.Member(1, rs.Held(6)), rs.Member(2, rs.Silent(time.Second)), rs.AcceptLoss()),
			name:  topology.FailingOver, why: "db-1 was elected",
			steps: []string{"assign Held[db-0] @6", electsOne},
		},
		"a member that had left the sync set is not waited for": {
			state: begun(rs.Member(1, rs.Held(6)), rs.Member(2, rs.Silent(time.Second)), rs.SyncSet(1)),
			name:  topology.FailingOver, why: "db-1 was elected",
			steps: []string{"assign Held[db-0] @6", electsOne},
		},
		"a member outside the sync set that was in step all the time and has more is elected": {
			state: begun(heldOthers, rs.SyncSet(1), rs.Member(2, rs.At(1010))),
			name:  topology.FailingOver, why: "db-2 was elected",
			steps: []string{"assign Held[db-0] @6", electsTwo},
		},
		"a member is loading its data: it is waited for": {
			state: begun(rs.Member(1, rs.Held(6)), rs.Member(2, rs.Starting())),
			name:  topology.FailingOver, why: "Waiting for db-2",
			steps: []string{"assign Held[db-0 db-2] @6"},
		},
		"a member of another history is never elected, however far it reaches (18)": {
			state: begun(heldOthers, rs.Member(2, rs.At(5000), rs.OfLineage("lineage-z", "", 0))),
			name:  topology.FailingOver, why: "db-1 was elected",
			steps: []string{"assign Held[db-0] @6", electsOne},
		},
		"what a member added in a promotion of its own counts for nothing": {
			state: begun(heldOthers, rs.Member(2, rs.At(5000), rs.OfLineage("lineage-z", rs.Lineage, 990))),
			name:  topology.FailingOver, why: "db-1 was elected",
			steps: []string{"assign Held[db-0] @6", electsOne},
		},
		"nobody has ever been in step with the primary that is lost: it is waited for": {
			state: begun(heldOthers, rs.Every([]int{1, 2}, rs.OfLineage("lineage-z", "", 0))),
			name:  topology.FailingOver, why: "Waiting for db-0",
			steps: []string{"assign Held[db-0] @6"},
		},
	})
}

func TestTheFormerPrimaryIsBack(t *testing.T) {
	t.Parallel()
	heldOthers := rs.Every([]int{1, 2}, rs.Held(6))
	check(t, map[string]row{
		"the former primary is back, and a replica in step stays ahead of it (18)": {
			state: begun(heldOthers, rs.Member(0, rs.Held(6), rs.Reloaded(rs.PrimaryNote(1020)))),
			name:  topology.FailingOver, why: "db-1 was elected", steps: []string{electsOne},
		},
		"the former primary was never restarted, obeys, and has more": {
			state: begun(heldOthers, rs.Member(0, rs.Held(6), rs.At(1020))),
			name:  topology.FailingOver, why: "db-0 was elected",
			steps: []string{"store Failover db-0 → db-0 @6"},
		},
		"the same, cut off from the members: nobody could replicate from it": {
			state: begun(heldOthers, rs.Member(0, rs.Held(6), rs.At(1020)), rs.CutFromEachOther([]int{0}, []int{1, 2}, 10*time.Second)),
			name:  topology.FailingOver, why: "db-1 was elected", steps: []string{electsOne},
		},
		"the same, and a member of the sync set is missing: only the former primary has what that one may have": {
			state: begun(
				rs.Member(0, rs.Held(6), rs.At(1020)), rs.Member(1, rs.Held(6)), rs.Member(2, rs.Silent(time.Second)),
				rs.CutFromEachOther([]int{0}, []int{1, 2}, 10*time.Second),
			),
			name: topology.FailingOver, why: "db-0 was elected",
			steps: []string{"store Failover db-0 → db-0 @6"},
		},
		"the former primary is back with all its data and no replica is: it leads again": {
			state: begun(rs.Member(0, rs.Held(6), rs.Reloaded(rs.PrimaryNote(1020))), rs.Every([]int{1, 2}, rs.Silent(time.Minute))),
			name:  topology.FailingOver, why: "db-0 was elected",
			steps: []string{"store Failover db-0 → db-0 @6"},
		},
		"the former primary is back with an older snapshot and no replica is: they are waited for": {
			state: begun(rs.Member(0, rs.Held(6), rs.Restored(900, rs.PrimaryNote(1020))), rs.Every([]int{1, 2}, rs.Silent(time.Minute))),
			name:  topology.FailoverBlocked, why: "Waiting for db-1, db-2", steps: []string{},
		},
		"the primary is reborn empty: it is never elected while another has data (7, 8)": {
			state: begun(heldOthers, rs.Member(0, rs.Held(6), rs.Empty())),
			name:  topology.FailingOver, why: "db-1 was elected", steps: []string{electsOne},
		},
		"the primary is reborn empty, its keys noted, and the replicas are missing (2: never a new empty cluster)": {
			state: begun(rs.Member(0, rs.Held(6), rs.Reloaded(rs.PrimaryNote(1020)), rs.Keyed(0)), rs.Every([]int{1, 2}, rs.Silent(time.Minute))),
			name:  topology.FailoverBlocked, why: "Waiting for db-1, db-2", steps: []string{},
		},
	})
}

func TestAFailoverMeetsOtherTroubles(t *testing.T) {
	t.Parallel()
	check(t, map[string]row{
		"a broken pod of a spec that was taken back is made again (I12, 39)": {
			state: begun(rs.Member(1, rs.Held(6)), rs.Member(2, rs.Broken("image"), rs.Outdated("image bad → good"))),
			name:  topology.FailoverBlocked, why: "Waiting for db-2",
			steps: []string{"assign Held[db-0] @6", "delete db-2 uid-2"},
		},
		"not in the pass that kills the former primary (I8)": {
			state: begun(rs.Member(0, func(m *topology.Member) { *m = rs.Settled(3).Members[0] }, rs.Unresponsive(rs.Detection)),
				rs.Member(1, rs.Held(6)), rs.Member(2, rs.Broken("image"), rs.Outdated("image bad → good"))),
			name: topology.FailoverBlocked, why: "Waiting for db-2", steps: []string{"kill db-0 uid-0 @6"},
		},
		"without a volume it is left alone, since it may be the last copy (I5)": {
			state: begun(rs.Member(1, rs.Held(6)), rs.Member(2, rs.Broken("image"), rs.Outdated("image bad → good")), rs.Ephemeral()),
			name:  topology.FailoverBlocked, why: "Waiting for db-2", steps: []string{"assign Held[db-0] @6"},
		},
	})
}

func TestHowThePromotionEnds(t *testing.T) {
	t.Parallel()
	elected := func(changes ...rs.Change) topology.State {
		base := []rs.Change{
			rs.FailingOver(0, 6), rs.Elected(1), rs.RoutedNowhere(), rs.Member(0, rs.Down()), rs.Every([]int{1, 2}, rs.Held(6)),
		}
		return rs.Settled(3, append(base, changes...)...)
	}
	const again = "store Failover db-1 → ? @7"
	check(t, map[string]row{
		"the candidate is held: it is told": {
			state: elected(),
			name:  topology.FailingOver, why: "db-1 takes over", steps: []string{"assign Primary[db-1] @6"},
		},
		"the candidate is primary: stored, routed, followed, announced, in this order (24)": {
			state: elected(rs.Member(1, rs.Serving(6), rs.OfLineage("lineage-b", rs.Lineage, rs.Offset))),
			name:  topology.FailingOver, why: "db-1 is primary in epoch 6",
			steps: []string{
				"store primary db-1 @6, sync set [db-2]", "route db-1 uid-1",
				"assign Primary[db-1] Replica[db-2] Held[db-0] @6", "announce FailoverCompleted",
			},
		},
		"the former primary is back already: it follows, and is in the sync set": {
			state: elected(rs.Member(0, rs.Held(6), rs.Reloaded(rs.PrimaryNote(1020))), rs.Member(1, rs.Serving(6), rs.OfLineage("lineage-b", rs.Lineage, rs.Offset))),
			name:  topology.FailingOver, why: "db-1 is primary in epoch 6",
			steps: []string{
				"store primary db-1 @6, sync set [db-0 db-2]", "route db-1 uid-1",
				"assign Primary[db-1] Replica[db-0 db-2] @6", "announce FailoverCompleted",
			},
		},
		"the candidate's stream broke a moment ago": {
			state: elected(rs.Member(1, rs.Silent(time.Second))),
			name:  topology.FailingOver, why: "Waiting for db-1", steps: []string{}, wake: 2 * time.Second,
		},
		"the candidate does not answer for the time of detection: another election, and now it is to be fenced": {
			state: elected(rs.Member(1, rs.Silent(rs.Detection))),
			name:  topology.FailingOver, why: "does not answer", steps: []string{again},
		},
		"the candidate's server died": {
			state: elected(rs.Member(1, rs.Down())),
			name:  topology.FailingOver, why: "was restarted", steps: []string{again},
		},
		"the candidate died as primary, unseen, and is held again": {
			state: elected(rs.Member(1, func(m *topology.Member) { m.Agent.SpentEpoch = 6 })),
			name:  topology.FailingOver, why: "was restarted", steps: []string{again},
		},
		"the candidate's pod is gone": {
			state: elected(rs.Member(1, rs.NoPod())),
			name:  topology.FailingOver, why: "is gone", steps: []string{again},
		},
		"the candidate's pod was replaced by another of its name": {
			state: elected(rs.Member(1, rs.Reborn())),
			name:  topology.FailingOver, why: "is gone", steps: []string{again},
		},
		"the candidate lost its data between election and promotion": {
			state: elected(rs.Member(1, rs.Empty())),
			name:  topology.FailingOver, why: "lost its data", steps: []string{again},
		},
		"the manager died after the store and before the route: the route is led": {
			state: rs.Settled(3, rs.RoutedNowhere()),
			name:  topology.Settled, why: "Every member serves", steps: []string{"route db-0 uid-0", "assign Primary[db-0] Replica[db-1 db-2] @5"},
		},
	})
}

func TestTheFormerPrimaryIsFencedFirst(t *testing.T) {
	t.Parallel()
	lastWord := rs.Lease + 300*time.Millisecond
	gathered := func(changes ...rs.Change) topology.State {
		base := []rs.Change{
			rs.FailingOver(0, 6), rs.RoutedNowhere(), rs.Every([]int{1, 2}, rs.Held(6)),
			rs.CutFromEachOther([]int{0}, []int{1, 2}, 10*time.Second),
		}
		return rs.Settled(3, append(base, changes...)...)
	}
	touched := func(epochAge time.Duration) rs.Change {
		return rs.Member(2, rs.AtEpoch(6, epochAge), func(m *topology.Member) {
			m.Agent.Peers[rs.Name(0)] = topology.Touch{Answered: -1, Called: time.Second}
		})
	}
	check(t, map[string]row{
		"it speaks and is primary: it is held, not waited out": {
			state: gathered(),
			name:  topology.FailingOver, why: "give up its role", steps: []string{"assign Held[db-0] @6"},
		},
		"it is not primary and has not seen the epoch: a late order could still make it so": {
			state: gathered(rs.Member(0, rs.Held(5))),
			name:  topology.FailingOver, why: "give up its role", steps: []string{"assign Held[db-0] @6"},
		},
		"it is a replica by its own word, in the middle of a hand-over that may still be refused": {
			state: gathered(rs.Member(0, rs.Held(6), rs.Following(1), rs.HandingOverInEngine("failover-in-progress"))),
			name:  topology.FailingOver, why: "give up its role", steps: []string{"assign Held[db-0] @6"},
		},
		"its server is frozen: it is killed by UID": {
			state: gathered(rs.Member(0, rs.Unresponsive(rs.Detection))),
			name:  topology.FailingOver, why: "does not answer", steps: []string{"kill db-0 uid-0 @6"},
		},
		"it is a ghost that speaks: it is killed by UID": {
			state: gathered(rs.Member(0, rs.NoPod()), rs.GhostConnected(0)),
			name:  topology.FailingOver, why: "runs on", steps: []string{"kill db-0 uid-0 @6"},
		},
		"it is a ghost that was killed": {
			state: gathered(rs.Member(0, rs.NoPod()), rs.GhostDead(0)),
			name:  topology.FailingOver, why: "was elected", steps: []string{electsOne},
		},
		"it is a silent ghost whose lease may hold": {
			state: gathered(rs.Member(0, rs.NoPod()), rs.GhostSilent(0, time.Second)),
			name:  topology.FailingOver, why: "lease of db-0", steps: []string{}, wake: lastWord - time.Second,
		},
		"it is a silent ghost whose lease has run out": {
			state: gathered(rs.Member(0, rs.NoPod()), rs.GhostSilent(0, lastWord)),
			name:  topology.FailingOver, why: "was elected", steps: []string{electsOne},
		},
		"it was never heard by this operator, which has just started": {
			state: gathered(rs.Member(0, rs.NoPod()), rs.WatchedFor(time.Second)),
			name:  topology.FailingOver, why: "lease of db-0", steps: []string{}, wake: lastWord - time.Second,
		},
		"it is silent, and a member answered it a moment ago in the old epoch": {
			state: gathered(rs.Member(0, rs.Silent(10*time.Second)), touched(500*time.Millisecond)),
			name:  topology.FailingOver, why: "lease of db-0", steps: []string{}, wake: lastWord - time.Second,
		},
		"it is silent, and a member answers it, but has long been in the new epoch": {
			state: gathered(rs.Member(0, rs.Silent(10*time.Second)), touched(lastWord)),
			name:  topology.FailingOver, why: "was elected", steps: []string{electsOne},
		},
		"it is silent and its server is known to be down: that was long ago, so the lease counts": {
			state: gathered(rs.Member(0, rs.Down(), rs.Silent(time.Second))),
			name:  topology.FailingOver, why: "lease of db-0", steps: []string{}, wake: lastWord - time.Second,
		},
		"it ended in order": {
			state: gathered(rs.Member(0, rs.Final())),
			name:  topology.FailingOver, why: "was elected", steps: []string{electsOne},
		},
	})
}
