package topology_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	rs "github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

func TestAPrimaryThatServes(t *testing.T) {
	t.Parallel()
	const everyone = "assign Primary[db-0] Replica[db-1 db-2] @5"
	check(t, map[string]row{
		"all is well: roles are repeated, and nothing is written (I9)": {
			state: rs.Settled(3),
			name:  topology.Settled, why: "Every member serves", steps: []string{everyone},
		},
		"paused": {
			state: rs.Settled(3, rs.Paused(), rs.Wanted(1), rs.Member(0, rs.Down())),
			name:  topology.Paused, why: "does nothing", steps: []string{},
		},
		"being deleted: nothing is made any more (40)": {
			state: rs.Settled(3, rs.Deleting(), rs.Member(0, rs.Down())),
			name:  topology.Deleting, why: "being deleted", steps: []string{},
		},
		"the route leads elsewhere (14, 24)": {
			state: rs.Settled(3, rs.Routed(1)),
			name:  topology.Settled, why: "Every member serves", steps: []string{"route db-0 uid-0", everyone},
		},
		"a replica follows an address that is no member's (14)": {
			state: rs.Settled(3, rs.Member(0, rs.Detached(2)), rs.Member(2, rs.Following(7), rs.LinkDown())),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{everyone},
		},
		"a replica's link is down: it is not told anything new, its handshake shall finish (21)": {
			state: rs.Settled(3, rs.Member(0, rs.Detached(2)), rs.Member(2, rs.LinkDown())),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{everyone},
		},
		"a replica's server died: it is started held": {
			state: rs.Settled(3, rs.Member(0, rs.Detached(2)), rs.Member(2, rs.Down())),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{"assign Primary[db-0] Replica[db-1] Held[db-2] @5"},
		},
		"a replica's server hangs: it is told nothing": {
			state: rs.Settled(3, rs.Member(2, rs.Unresponsive(time.Second))),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{"assign Primary[db-0] Replica[db-1] @5"},
		},
		"the former primary returns: in the sync set before it follows (18)": {
			state: rs.Settled(3, rs.SyncSet(2), rs.Member(0, rs.Detached(1)), rs.Member(1, rs.Held(5), rs.At(1500), rs.OfLineage("lineage-old", "", 0))),
			name:  topology.Joining, why: "Waiting for db-1", steps: []string{"store primary db-0 @5, sync set [db-1 db-2]", everyone},
		},
		"the primary is empty and a member has data: it is not made to follow (7, I5)": {
			state: rs.Settled(2, rs.SyncSet(), rs.Member(0, rs.Empty(), rs.OfLineage(rs.Lineage, "", 0), rs.Alone()), rs.Member(1, rs.Held(5))),
			name:  topology.Joining, why: "Waiting for db-1", steps: []string{"assign Primary[db-0] Held[db-1] @5"},
		},
		"the primary never had data, by its own note: what the other has was never confirmed": {
			state: rs.Settled(2, rs.Member(0, rs.Alone(), rs.Reloaded(facts.Stored{ReplID: "lineage-n"}), rs.OfLineage(rs.Lineage, "", 0)), rs.Member(1, rs.Held(5))),
			name:  topology.Joining, why: "Waiting for db-1", steps: []string{"assign Primary[db-0] Replica[db-1] @5"},
		},
		"a replica whose pod is gone lives on: it would confirm writes under its successor's name": {
			state: rs.Settled(3, rs.Member(2, rs.Reborn()), rs.GhostConnected(2)),
			name:  topology.Joining, why: "Waiting for db-2",
			steps: []string{"assign Primary[db-0] Replica[db-1] Held[db-2] @5", "kill db-2 uid-2 @5"},
		},
		"the engine changed its lineage: stored, since heirs are known by it": {
			state: rs.Settled(3, rs.Member(0, rs.OfLineage("lineage-b", "", 0))),
			name:  topology.Settled, why: "Every member serves", steps: []string{"store primary db-0 @5, sync set [db-1 db-2]", everyone},
		},
	})
}

func TestWhoMayHoldAConfirmedWriteAlone(t *testing.T) {
	t.Parallel()
	const without2 = "store primary db-0 @5, sync set [db-1]"
	const told = "assign Primary[db-0] Replica[db-1] @5"
	gone := func(changes ...rs.Change) topology.State {
		base := []rs.Change{rs.Member(0, rs.Detached(2)), rs.Member(2, rs.Silent(time.Minute), rs.DetachedAt(900))}
		return rs.Settled(3, append(base, changes...)...)
	}
	check(t, map[string]row{
		"a lost replica leaves the set once the other has all that it may have confirmed": {
			state: gone(),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{without2, told},
		},
		"not before": {
			state: gone(rs.Member(0, rs.Confirmed(1, 899))),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{told}, wake: time.Second,
		},
		"not while the other is out of step": {
			state: gone(rs.Member(1, rs.Synchronising())),
			name:  topology.Joining, why: "Waiting for db-1, db-2", steps: []string{told}, wake: time.Second,
		},
		"not while the primary still lists it": {
			state: gone(rs.Member(0, rs.Confirmed(2, 1000))),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{told},
		},
		"two lost ones leave together, once the third has everything": {
			state: gone(rs.Member(1, rs.Silent(time.Minute), rs.DetachedAt(950)), rs.Member(0, rs.Detached(1)), rs.Surplus(3), rs.SyncSet(1, 2, 3), rs.Wanted(4), rs.SetReplicas(4)),
			name:  topology.Joining, why: "Waiting for db-1, db-2",
			steps: []string{"store primary db-0 @5, sync set [db-3]", "assign Primary[db-0] Replica[db-3] @5"},
		},
		"not while it runs": {
			state: rs.Settled(3, rs.Member(0, rs.Detached(2)), rs.Member(2, rs.LinkDown(), rs.DetachedAt(900))),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{"assign Primary[db-0] Replica[db-1 db-2] @5"},
		},
		"not when nobody saw it leave": {
			state: gone(rs.Member(2, rs.DetachedAt(-1))),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{told},
		},
		"the last one never": {
			state: gone(rs.SyncSet(2), rs.Member(1, rs.Silent(time.Minute), rs.DetachedAt(900)), rs.Member(0, rs.Alone())),
			name:  topology.Joining, why: "Waiting for db-1, db-2", steps: []string{"assign Primary[db-0] @5"}, wake: rs.Detection,
		},
		"one that the primary lists joins the set, heard or not": {
			state: rs.Settled(3, rs.SyncSet(1), rs.Member(2, rs.Silent(time.Minute))),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{"store primary db-0 @5, sync set [db-1 db-2]", told},
		},
		"one that is about to stop does not join": {
			state: rs.Settled(3, rs.SyncSet(1), rs.Member(0, rs.Detached(2)), rs.Member(2, rs.Held(5), rs.Stopping())),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{told},
		},
		"one that is about to stop and is not in the set does not follow either": {
			state: rs.Settled(3, rs.SyncSet(1), rs.Member(0, rs.Detached(2)), rs.Member(2, rs.Held(5)), rs.Member(2, rs.Stopping())),
			name:  topology.Joining, why: "Waiting for db-2", steps: []string{told},
		},
		"one that was removed for good leaves when the others have everything": {
			state: rs.Settled(3, rs.Wanted(2), rs.SetReplicas(2), rs.NotThere(2)),
			name:  topology.Settled, why: "Every member serves", steps: []string{without2, told},
		},
		"not while a stranger is attached, who may be it": {
			state: rs.Settled(3, rs.Wanted(2), rs.SetReplicas(2), rs.NotThere(2), rs.Member(0, rs.Confirmed(2, 1000))),
			name:  topology.Settled, why: "Every member serves", steps: []string{told},
		},
		"with one member wanted the set becomes empty, however many it had": {
			state: rs.Settled(3, rs.Wanted(1), rs.SetReplicas(1), rs.NotThere(1), rs.NotThere(2)),
			name:  topology.Settled, why: "Every member serves", steps: []string{"store primary db-0 @5, sync set []", "assign Primary[db-0] @5"},
		},
		"with one member wanted of two the set becomes empty": {
			state: rs.Settled(2, rs.Wanted(1), rs.SetReplicas(1), rs.NotThere(1)),
			name:  topology.Settled, why: "Every member serves", steps: []string{"store primary db-0 @5, sync set []", "assign Primary[db-0] @5"},
		},
	})
}
