package observe

import (
	"time"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
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
}

// NewMemory begins to watch a cluster.
func NewMemory(now time.Time) *Memory {
	return &Memory{since: now, detached: map[string]int64{}}
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
