package redisstate

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
)

// What a settled cluster has.
const (
	Detection = 3 * time.Second
	Lease     = 2 * time.Second
	// Epoch in which the primary serves.
	Epoch = int64(5)
	// Lineage is the replication ID under which it serves.
	Lineage = "lineage-a"
	// Offset of every member.
	Offset = int64(1000)
	// Keys of every member.
	Keys = int64(10)
	// Cluster is the UID of the cluster.
	Cluster = "cluster-uid"
)

// Change makes a State different.
type Change func(s *topology.State)

// Name of the member with this ordinal.
func Name(i int) string { return fmt.Sprintf("db-%d", i) }

// UID of the first pod of that member; a Reborn one has another.
func UID(i int) string { return fmt.Sprintf("uid-%d", i) }

// Address of the first pod of that member.
func Address(i int) string { return fmt.Sprintf("10.0.0.%d", i+1) }

// Names of members.
func Names(ordinals ...int) []string {
	out := make([]string, 0, len(ordinals))
	for _, i := range ordinals {
		out = append(out, Name(i))
	}
	return out
}

// Settled is a cluster of n members in which db-0 is primary and every other member follows it.
func Settled(n int, changes ...Change) topology.State {
	s := topology.State{
		Want: topology.Want{Cluster: Cluster, Replicas: n, Detection: Detection, Lease: Lease},
		Intent: topology.Intent{
			Epoch: Epoch, Primary: Name(0), PrimaryUID: UID(0), ReplID: Lineage,
		},
		RoutedUID:   UID(0),
		SetReplicas: n,
		WatchedFor:  time.Hour,
	}
	for i := range n {
		s.Members = append(s.Members, running(i, n))
		if i > 0 {
			s.Intent.SyncSet = append(s.Intent.SyncSet, Name(i))
			follow(&s.Members[i], 0)
		}
	}
	for i := range n {
		if i > 0 {
			attach(&s.Members[0], i, Offset)
		}
	}
	if n > 0 {
		s.Members[0].Agent.Facts.IsPrimary = true
	}
	return with(s, changes)
}

// Fresh is a cluster that was just created: every pod is there, no server was started yet.
func Fresh(n int, changes ...Change) topology.State {
	s := topology.State{
		Want:        topology.Want{Cluster: Cluster, Replicas: n, Detection: Detection, Lease: Lease},
		SetReplicas: n,
		WatchedFor:  time.Minute,
	}
	for i := range n {
		m := running(i, n)
		m.Agent = &topology.Agent{Phase: topology.Waiting, Peers: m.Agent.Peers}
		s.Members = append(s.Members, m)
	}
	return with(s, changes)
}

// Changed is a copy of s with changes; s stays as it is.
func Changed(s topology.State, changes ...Change) topology.State { return with(Clone(s), changes) }

func with(s topology.State, changes []Change) topology.State {
	for _, c := range changes {
		c(&s)
	}
	return s
}

func running(i, n int) topology.Member {
	m := topology.Member{
		Name: Name(i), Ordinal: i, DetachedAt: -1,
		Pod:  topology.Pod{Exists: true, UID: UID(i), Address: Address(i)},
		Link: topology.Link{Connected: true, Silent: 100 * time.Millisecond},
		Agent: &topology.Agent{
			Epoch: Epoch, EpochAge: time.Hour, Phase: topology.Running, Peers: map[string]topology.Touch{},
			Facts: facts.Facts{ReplID: Lineage, Offset: Offset, Keys: Keys, LastIOMillis: -1, FailoverState: "no-failover"},
		},
	}
	for j := range n {
		if j != i {
			m.Agent.Peers[Name(j)] = touching()
		}
	}
	return m
}

func touching() topology.Touch {
	return topology.Touch{Answered: 200 * time.Millisecond, Called: 200 * time.Millisecond}
}

func follow(m *topology.Member, primary int) {
	f := &m.Agent.Facts
	f.IsPrimary, f.Following, f.LinkUp, f.LastIOMillis = false, Address(primary), true, 100
}

func attach(p *topology.Member, replica int, confirmed int64) {
	f := &p.Agent.Facts
	detach(p, Address(replica))
	f.Replicas = append(f.Replicas, facts.ReplicaLink{Host: Address(replica), Online: true, Offset: confirmed})
}

func detach(p *topology.Member, address string) {
	p.Agent.Facts.Replicas = slices.DeleteFunc(p.Agent.Facts.Replicas, func(r facts.ReplicaLink) bool { return r.Host == address })
}

// Clone copies everything that a change may reach.
func Clone(s topology.State) topology.State {
	s.Intent.SyncSet = slices.Clone(s.Intent.SyncSet)
	if t := s.Intent.Transition; t != nil {
		c := *t
		s.Intent.Transition = &c
	}
	s.Ghosts = slices.Clone(s.Ghosts)
	s.Members = slices.Clone(s.Members)
	for i := range s.Members {
		cloneMember(&s.Members[i])
	}
	return s
}

func cloneMember(m *topology.Member) {
	m.Pod.Outdated = slices.Clone(m.Pod.Outdated)
	if m.Agent == nil {
		return
	}
	a := *m.Agent
	a.Peers = make(map[string]topology.Touch, len(m.Agent.Peers))
	for name, t := range m.Agent.Peers {
		a.Peers[name] = t
	}
	a.Facts.Replicas = slices.Clone(a.Facts.Replicas)
	if a.Facts.Stored != nil {
		stored := *a.Facts.Stored
		a.Facts.Stored = &stored
	}
	m.Agent = &a
}
