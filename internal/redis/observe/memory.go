package observe

import (
	"time"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// handOverPause is how long no hand-over is begun after one was given up.
const handOverPause = 30 * time.Second

// Memory is what a manager remembers of a cluster between passes. All of it may be lost at any
// time: a new manager then waits longer or tries once more, and decides nothing wrong.
// It is used by one pass at a time.
type Memory struct {
	since    time.Time
	detached map[string]int64
	// handOver counts the failures of the hand-over in that epoch.
	handOverEpoch    int64
	handOverFailures int
	pausedUntil      time.Time
	delivered        map[string]delivery
}

// delivery is an assignment that an agent took, and what its server was then.
type delivery struct {
	digest, instance string
	server           int
	phase            wire.ServerPhase
}

// NewMemory begins to watch a cluster.
func NewMemory(now time.Time) *Memory {
	return &Memory{since: now, detached: map[string]int64{}, delivered: map[string]delivery{}}
}

// Delivered notes that the agent of a pod took an assignment; the record is its answer.
func (m *Memory) Delivered(podUID, digest string, answer wire.Record) {
	m.delivered[podUID] = deliveryOf(digest, answer)
}

// Holds says whether the agent of a pod has that assignment and works on it, or has refused a part of
// it: nothing is gained by sending it again. Once its server is another one, or is up or down, the agent
// may have let go of it.
func (m *Memory) Holds(podUID, digest string, now *wire.Record) bool {
	d, ok := m.delivered[podUID]
	return ok && now != nil && d == deliveryOf(digest, *now)
}

func deliveryOf(digest string, r wire.Record) delivery {
	return delivery{digest: digest, instance: r.AgentInstance, server: r.Server.Instance, phase: r.Server.Phase}
}

func (m *Memory) watchedFor(now time.Time) time.Duration { return now.Sub(m.since) }

// HandOverFailed counts a refused hand-over.
func (m *Memory) HandOverFailed(epoch int64) {
	if m.handOverEpoch != epoch {
		m.handOverEpoch, m.handOverFailures = epoch, 0
	}
	m.handOverFailures++
}

// HandOverGivenUp starts the pause before the next one.
func (m *Memory) HandOverGivenUp(now time.Time) { m.pausedUntil = now.Add(handOverPause) }

func (m *Memory) failures(t *v1.Transition) int {
	if t == nil || t.Epoch != m.handOverEpoch {
		return 0
	}
	return m.handOverFailures
}

func (m *Memory) pause(now time.Time) time.Duration { return max(0, m.pausedUntil.Sub(now)) }

// noteDetached remembers the primary's offset at the moment when a member is first seen not
// attached to it. What the member may have confirmed lies below that offset, so that the sync set
// can let it go once the others have confirmed it.
func (m *Memory) noteDetached(s *topology.State) {
	p := s.ServingPrimary()
	if p == nil {
		// Nobody to say who is attached; what was noted holds for no other primary.
		clear(m.detached)
		return
	}
	for i := range s.Members {
		member := &s.Members[i]
		if member.Name == p.Name || topology.Attached(p, member.Pod.Address) {
			delete(m.detached, member.Name)
			continue
		}
		if _, noted := m.detached[member.Name]; !noted {
			m.detached[member.Name] = p.Agent.Facts.Offset
		}
		member.DetachedAt = m.detached[member.Name]
	}
}
