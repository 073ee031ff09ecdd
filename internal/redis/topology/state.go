package topology

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/rollout"
)

// State is one snapshot of a cluster: the only thing that a decision may rest on.
type State struct {
	Want   Want
	Intent Intent
	// Members by ordinal, pods beyond Want.Replicas included until they are gone.
	Members []Member
	// Ghosts are pods that are no longer in the API while their servers may still run.
	Ghosts []Ghost
	// WatchedFor is how long this manager has been observing the cluster.
	WatchedFor time.Duration
	// RoutedUID is the UID of the pod that the primary Service leads to; empty: none.
	RoutedUID string
	// SetReplicas is the number of pods that the StatefulSet asks for; 0: it does not exist yet.
	SetReplicas int
	// HandOverFailures counts how often the current hand-over was refused by the engine.
	HandOverFailures int
	// HandOverPause is how long no new hand-over is to be started, after one was given up.
	HandOverPause time.Duration
}

// Want is what the spec asks for.
type Want struct {
	// Cluster is the UID of the RedisCluster.
	Cluster string
	// Replicas is the number of members.
	Replicas int
	// Detection is how long a member may be silent before it counts as unreachable.
	Detection time.Duration
	// Lease of a primary that is out of touch; shorter than Detection.
	Lease time.Duration
	// Supervised: the primary is restarted only when Approved.
	Supervised bool
	Approved   bool
	// Ephemeral members lose their data with their pod.
	Ephemeral bool
	Paused    bool
	Deleting  bool
	// AcceptLoss is a person's consent, for this transition only, to promote without the members
	// that may hold confirmed writes.
	AcceptLoss bool
}

// Intent is what was stored in the cluster's status.
type Intent struct {
	Epoch      int64
	Primary    string
	PrimaryUID string
	// ReplID is the replication ID under which that primary serves. A member that carries it has
	// been in step with this primary, and not only with one before.
	ReplID string
	// SyncSet names the members that may hold a confirmed write which no other replica holds.
	SyncSet    []string
	Transition *Transition
}

// Kind of a transition.
type Kind string

// The kinds of transition, as in the API.
const (
	Bootstrap Kind = "Bootstrap"
	Failover  Kind = "Failover"
	HandOver  Kind = "HandOver"
)

// Transition is a change of primary under way.
type Transition struct {
	Kind    Kind
	Epoch   int64
	From    string
	FromUID string
	To      string
	ToUID   string
	Reason  string
}

// Member is one member as observed.
type Member struct {
	Name    string
	Ordinal int
	Pod     Pod
	Link    Link
	// Agent is the newest record of the agent in this very pod; nil: none yet.
	Agent *Agent
	// DetachedAt is the primary's offset when the member was first seen not attached to it: what it
	// may have confirmed lies below. Negative: it is attached, or that was not seen.
	DetachedAt int64
}

// Pod is what the API server says.
type Pod struct {
	Exists      bool
	UID         string
	Address     string
	Terminating bool
	// Broken says why the pod does not get to run its server: unschedulable, image, crash loop. Empty: it is not.
	Broken string
	// Outdated names what differs from the spec, for people. Empty: nothing.
	Outdated []rollout.Reason
}

// Link is the manager's connection to an agent.
type Link struct {
	// Connected: the stream is open.
	Connected bool
	// Silent is the time since the last record.
	Silent time.Duration
}

// Phase of a server process, as the agent says.
type Phase string

// The phases of a server process.
const (
	Waiting      Phase = "Waiting"
	Starting     Phase = "Starting"
	Running      Phase = "Running"
	Unresponsive Phase = "Unresponsive"
	Down         Phase = "Down"
)

// Agent is what an agent reported last.
type Agent struct {
	// Epoch is the highest that the agent has seen, EpochAge for how long.
	Epoch           int64
	EpochAge        time.Duration
	Phase           Phase
	UnresponsiveFor time.Duration
	// SpentEpoch is the highest epoch under which this member was told to be primary and is no more,
	// since its server died or gave the role away: it refuses to be primary in it. 0: none.
	SpentEpoch int64
	// Stopping: the pod got its signal to end. Final: the server ended in order, for good.
	Stopping bool
	Final    bool
	// Fenced: the agent blocks writes, as its lease ran out. Isolated: it killed its server, as it had
	// heard nobody for too long.
	Fenced   bool
	Isolated bool
	// ConfigError says why the wishes were not applied.
	ConfigError string
	// Peers says, by pod name, when this agent and a peer were last in touch.
	Peers map[string]Touch
	Facts facts.Facts
}

// Touch is how long ago two agents were in touch. Never is a negative age.
type Touch struct {
	// Answered: since the peer answered this agent.
	Answered time.Duration
	// Called: since this agent answered the peer, and so may have prolonged its lease.
	Called time.Duration
}

// Ghost is a pod that was deleted in the API without a proof that its server is dead.
type Ghost struct {
	Name string
	UID  string
	// Connected: its agent still speaks.
	Connected bool
	Silent    time.Duration
	// Dead: its agent said that the server is down for good.
	Dead bool
}

// member returns the member of that name.
func (s *State) member(name string) *Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}

// ghost returns the ghost of that UID.
func (s *State) ghost(uid string) *Ghost {
	for i := range s.Ghosts {
		if s.Ghosts[i].UID == uid {
			return &s.Ghosts[i]
		}
	}
	return nil
}

// live says whether the agent speaks to us now.
func (s *State) live(m *Member) bool {
	return m != nil && m.Pod.Exists && m.Agent != nil && !m.Agent.Final && m.Link.Connected && m.Link.Silent < s.Want.Detection
}

// running says whether the server of a live member answers and has its data.
func (s *State) running(m *Member) bool {
	return s.live(m) && m.Agent.Phase == Running && !m.Agent.Facts.Loading
}

// primaryAt says whether the member takes writes in that epoch.
func (s *State) primaryAt(m *Member, epoch int64) bool {
	return s.running(m) && m.Agent.Facts.IsPrimary && m.Agent.Epoch == epoch
}

// ServingPrimary is the member that takes writes in the stored epoch and says so; nil: none does.
func (s *State) ServingPrimary() *Member {
	m := s.member(s.Intent.Primary)
	if m == nil || m.Pod.UID != s.Intent.PrimaryUID || !s.primaryAt(m, s.Intent.Epoch) {
		return nil
	}
	return m
}

// heldAt says whether the member replicates from nobody and refuses everything older than epoch.
func (s *State) heldAt(m *Member, epoch int64) bool {
	return s.running(m) && !m.Agent.Facts.IsPrimary && m.Agent.Facts.Following == "" && m.Agent.Epoch >= epoch
}

// linked says whether the member replicates from that primary without a synchronisation under way.
func (s *State) linked(m, primary *Member) bool {
	if !s.running(m) || m.Agent.Facts.IsPrimary || m.Agent.Facts.SyncInProgress {
		return false
	}
	return m.Agent.Facts.LinkUp && m.Agent.Facts.Following == primary.Pod.Address
}

// others returns the members beside the named one.
func (s *State) others(name string) []*Member {
	var out []*Member
	for i := range s.Members {
		if s.Members[i].Name != name {
			out = append(out, &s.Members[i])
		}
	}
	return out
}

// storedEpoch is the highest epoch that was stored. Nobody is told one before.
func (s *State) storedEpoch() int64 {
	if t := s.Intent.Transition; t != nil {
		return max(s.Intent.Epoch, t.Epoch)
	}
	return s.Intent.Epoch
}

// nextEpoch is higher than every epoch that anybody is known to have seen.
func (s *State) nextEpoch() int64 {
	e := s.storedEpoch()
	for i := range s.Members {
		if a := s.Members[i].Agent; a != nil {
			e = max(e, a.Epoch)
		}
	}
	return e + 1
}

// inSyncSet says whether the named member may hold a confirmed write that no other replica holds.
func (s *State) inSyncSet(name string) bool {
	return slices.Contains(s.Intent.SyncSet, name)
}

// ReadyReplicas are the members that serve reads: behind the serving primary, without a synchronisation
// under way, and not about to stop. None while no primary serves.
func (s *State) ReadyReplicas() []Member {
	p := s.ServingPrimary()
	if p == nil {
		return nil
	}
	var out []Member
	for _, m := range s.others(p.Name) {
		if s.linked(m, p) && !m.Agent.Stopping && !m.Pod.Terminating {
			out = append(out, *m)
		}
	}
	return out
}

// Role of a member as observed.
func (s *State) Role(m *Member) ObservedRole {
	switch {
	case !m.Pod.Exists:
		return ObservedDown
	case !s.live(m):
		return ObservedUnknown
	case m.Agent.Phase != Running:
		return ObservedDown
	case m.Agent.Facts.IsPrimary:
		return ObservedPrimary
	case m.Agent.Facts.Following == "":
		return ObservedHeld
	}
	return ObservedReplica
}

// ObservedRole is what a member is, which may differ from what it shall be.
type ObservedRole string

// The observed roles, as in the API.
const (
	ObservedPrimary ObservedRole = "Primary"
	ObservedReplica ObservedRole = "Replica"
	ObservedHeld    ObservedRole = "Held"
	ObservedDown    ObservedRole = "Down"
	ObservedUnknown ObservedRole = "Unknown"
)
