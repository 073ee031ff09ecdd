package redisstate

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/rollout"
)

// MemberChange makes a member different.
type MemberChange func(m *topology.Member)

// Member changes one member.
func Member(ordinal int, changes ...MemberChange) Change {
	return func(s *topology.State) {
		m := find(s, ordinal)
		for _, c := range changes {
			c(m)
		}
	}
}

// Every changes the members of these ordinals.
func Every(ordinals []int, changes ...MemberChange) Change {
	return func(s *topology.State) {
		for _, i := range ordinals {
			Member(i, changes...)(s)
		}
	}
}

// Surplus adds a running member beyond the ones that are there; it follows db-0.
func Surplus(ordinal int) Change {
	return func(s *topology.State) {
		m := running(ordinal, ordinal+1)
		follow(&m, 0)
		s.Members = append(s.Members, m)
		attach(find(s, 0), ordinal, Offset)
	}
}

// NotThere takes a member out of the snapshot: nobody asks for it and its pod is gone.
func NotThere(ordinal int) Change {
	return func(s *topology.State) {
		s.Members = slices.DeleteFunc(s.Members, func(m topology.Member) bool { return m.Ordinal == ordinal })
		if p := find(s, 0); p != nil && p.Agent != nil {
			detach(p, Address(ordinal))
		}
	}
}

// Down: there is no server process, and the agent says so.
func Down() MemberChange { return phase(topology.Down) }

// Waiting: the agent has not started the server yet.
func Waiting() MemberChange { return phase(topology.Waiting) }

// Starting: the server does not answer yet.
func Starting() MemberChange { return phase(topology.Starting) }

func phase(p topology.Phase) MemberChange {
	return func(m *topology.Member) {
		m.Agent.Phase = p
		f := &m.Agent.Facts
		*f = facts.Facts{Stored: f.Stored, LastIOMillis: -1}
	}
}

// Unresponsive for that long; what was read before is remembered.
func Unresponsive(d time.Duration) MemberChange {
	return func(m *topology.Member) { m.Agent.Phase, m.Agent.UnresponsiveFor = topology.Unresponsive, d }
}

// Silent: the stream broke, and that long nothing was heard. The last record is remembered.
func Silent(d time.Duration) MemberChange {
	return func(m *topology.Member) { m.Link = topology.Link{Silent: d} }
}

// Unheard: this manager has never heard the agent, for that long.
func Unheard(d time.Duration) MemberChange {
	return func(m *topology.Member) { m.Link, m.Agent = topology.Link{Silent: d}, nil }
}

// NoPod: nothing is in the API.
func NoPod() MemberChange {
	return func(m *topology.Member) { m.Pod, m.Link, m.Agent = topology.Pod{}, topology.Link{}, nil }
}

// Reborn: a new pod of the name, with another UID and address; its agent has met nobody yet, and its
// server waits for its first order.
func Reborn() MemberChange {
	return func(m *topology.Member) {
		m.Pod = topology.Pod{Exists: true, UID: m.Pod.UID + "-reborn", Address: m.Pod.Address + "9"}
		Waiting()(m)
		m.Agent.EpochAge = 100 * time.Millisecond
		for name := range m.Agent.Peers {
			m.Agent.Peers[name] = topology.Touch{Answered: -1, Called: -1}
		}
	}
}

// Terminating: the pod object is being deleted.
func Terminating() MemberChange { return func(m *topology.Member) { m.Pod.Terminating = true } }

// Stopping: the agent got its signal to end.
func Stopping() MemberChange { return func(m *topology.Member) { m.Agent.Stopping = true } }

// Final: the agent stopped its server in order and is gone.
func Final() MemberChange {
	return func(m *topology.Member) {
		m.Agent.Stopping, m.Agent.Final, m.Agent.Phase = true, true, topology.Down
		m.Link = topology.Link{Silent: 100 * time.Millisecond}
	}
}

// Broken says why the pod does not come up; nothing of it was ever heard.
func Broken(why string) MemberChange {
	return func(m *topology.Member) {
		m.Pod.Broken = why
		m.Link, m.Agent = topology.Link{}, nil
	}
}

// Outdated says what differs from the spec.
func Outdated(why ...rollout.Reason) MemberChange {
	return func(m *topology.Member) { m.Pod.Outdated = why }
}

// AtEpoch is the highest epoch that the agent has seen, for that long.
func AtEpoch(epoch int64, age time.Duration) MemberChange {
	return func(m *topology.Member) { m.Agent.Epoch, m.Agent.EpochAge = epoch, age }
}

// Held at an epoch: it runs and follows nobody.
func Held(epoch int64) MemberChange {
	return func(m *topology.Member) {
		AtEpoch(epoch, 100*time.Millisecond)(m)
		m.Agent.Phase = topology.Running
		f := &m.Agent.Facts
		f.IsPrimary, f.Following, f.LinkUp, f.SyncInProgress, f.LastIOMillis, f.Replicas = false, "", false, false, -1, nil
	}
}

// Serving as primary since an epoch.
func Serving(epoch int64) MemberChange {
	return func(m *topology.Member) {
		Held(epoch)(m)
		m.Agent.Facts.IsPrimary = true
	}
}

// Following another member's first pod, in step.
func Following(primary int) MemberChange { return func(m *topology.Member) { follow(m, primary) } }

// LinkDown: it follows somebody whom it does not reach.
func LinkDown() MemberChange { return func(m *topology.Member) { m.Agent.Facts.LinkUp = false } }

// LastHeard is how long ago its server had the last byte from its primary.
func LastHeard(d time.Duration) MemberChange {
	return func(m *topology.Member) { m.Agent.Facts.LastIOMillis = d.Milliseconds() }
}

// Synchronising: a full copy is under way.
func Synchronising() MemberChange {
	return func(m *topology.Member) { m.Agent.Facts.LinkUp, m.Agent.Facts.SyncInProgress = false, true }
}

// Loading its data from disk.
func Loading() MemberChange { return func(m *topology.Member) { m.Agent.Facts.Loading = true } }

// At moves the offset.
func At(offset int64) MemberChange { return func(m *topology.Member) { m.Agent.Facts.Offset = offset } }

// OfLineage sets the replication IDs of the data; after a promotion the second is the one before,
// valid up to the offset at which the first began.
func OfLineage(id, before string, until int64) MemberChange {
	return func(m *topology.Member) {
		f := &m.Agent.Facts
		f.ReplID, f.ReplID2, f.SecondOffset = id, before, until
	}
}

// Keyed has that many keys.
func Keyed(keys int64) MemberChange { return func(m *topology.Member) { m.Agent.Facts.Keys = keys } }

// Empty: no data and no note of any.
func Empty() MemberChange {
	return func(m *topology.Member) {
		f := &m.Agent.Facts
		f.Keys, f.Offset, f.ReplID, f.ReplID2, f.Stored = 0, 0, "random-"+m.Name, "", nil
	}
}

// Reloaded: restarted from an append-only file, which carries the data and not its position. The
// agent's note says what the data was.
func Reloaded(note facts.Stored) MemberChange {
	return func(m *topology.Member) {
		f := &m.Agent.Facts
		f.Offset, f.ReplID, f.ReplID2, f.Keys, f.Stored = 0, "random-"+m.Name, "", note.Keys, &note
	}
}

// Restored: restarted from a snapshot that carries its position.
func Restored(offset int64, note facts.Stored) MemberChange {
	return func(m *topology.Member) {
		f := &m.Agent.Facts
		f.Offset, f.ReplID, f.Keys, f.Stored = offset, note.ReplID, note.Keys, &note
	}
}

// Note is what an agent writes beside the data of a settled cluster.
func Note(offset int64) facts.Stored {
	return facts.Stored{Cluster: Cluster, Epoch: Epoch, ReplID: Lineage, Offset: offset, Keys: Keys}
}

// PrimaryNote is the same of the primary.
func PrimaryNote(offset int64) facts.Stored {
	n := Note(offset)
	n.WasPrimary = true
	return n
}

// Alone: no replica is attached to this primary.
func Alone() MemberChange { return func(m *topology.Member) { m.Agent.Facts.Replicas = nil } }

// Detached: the primary lists this replica no more.
func Detached(ordinal int) MemberChange {
	return func(m *topology.Member) { detach(m, Address(ordinal)) }
}

// Confirmed is how far a replica has confirmed to this primary.
func Confirmed(ordinal int, offset int64) MemberChange {
	return func(m *topology.Member) { attach(m, ordinal, offset) }
}

// DetachedAt is the primary's offset when the member was first seen away from it.
func DetachedAt(offset int64) MemberChange {
	return func(m *topology.Member) { m.DetachedAt = offset }
}

// HandingOverInEngine: the engine is in the middle of a FAILOVER.
func HandingOverInEngine(state string) MemberChange {
	return func(m *topology.Member) { m.Agent.Facts.FailoverState = state }
}
