package redissim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Fleet is the streams of one manager to the agents. It keeps to the contract of internal/fleet:
// ghosts, silence, echoes only for records of the required epoch, wakes for what is material.
type Fleet struct {
	w    *World
	gate apistore.Gate
	// dead: the manager is gone, and so are its streams.
	dead      bool
	members   map[types.UID]*stream
	detection time.Duration
	required  int64
	woken     bool
	orders    int
}

// stream to one agent.
type stream struct {
	fleet.Member
	since, heardAt, openedAt, aliveAt time.Time
	record                            *wire.Record
	connected, gone, silent           bool
}

// Sync implements what the reconciler needs of a fleet.
func (f *Fleet) Sync(_ types.NamespacedName, target fleet.Target) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.detection = target.Detection
	f.required = max(f.required, target.RequiredEpoch)
	listed := map[types.UID]bool{}
	for _, m := range target.Members {
		uid := types.UID(m.PodUID)
		listed[uid] = true
		if f.members[uid] == nil {
			f.members[uid] = &stream{since: f.w.now}
		}
		f.members[uid].Member = m
	}
	for uid, s := range f.members {
		s.gone = !listed[uid]
	}
}

// RequireEpoch stops echoes to records of earlier epochs.
func (f *Fleet) RequireEpoch(_ types.NamespacedName, epoch int64) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.required = max(f.required, epoch)
}

// Forget closes all streams.
func (f *Fleet) Forget(types.NamespacedName) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	clear(f.members)
	f.required = 0
}

// Contacts are what is known of the agents now.
func (f *Fleet) Contacts(types.NamespacedName) []fleet.Contact {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	var out []fleet.Contact
	for _, s := range f.members {
		c := fleet.Contact{
			Member: s.Member, Connected: s.connected, Gone: s.gone, Record: s.record,
			HeardAt: s.heardAt, OpenedAt: s.openedAt, SilentSince: s.silentSince(),
		}
		if !s.connected {
			c.StreamErr = "no stream"
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b fleet.Contact) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.PodUID, b.PodUID))
	})
	return out
}

func (s *stream) silentSince() time.Time {
	if s.heardAt.IsZero() {
		return s.since
	}
	return s.heardAt
}

// step carries records and echoes, and notes silence.
func (f *Fleet) step() {
	now := f.w.now
	for uid, s := range f.members {
		a := f.w.agents[uid]
		alive := a != nil && !a.gone && s.Address != "" && a.cluster == s.ClusterUID
		switch {
		case s.connected && !alive:
			s.connected, s.aliveAt = false, now
			f.woken = true
		case !s.connected && alive && now.Sub(s.since) >= dialTime(s.Pod):
			s.connected, s.openedAt = true, now
			f.hear(s, a)
			f.woken = true
		case s.connected:
			if moved := a.moved(); moved || now.Sub(s.heardAt) >= wire.HeartbeatInterval {
				f.hear(s, a)
			}
		}
		if !s.silent && now.Sub(s.silentSince()) >= f.detection {
			s.silent, f.woken = true, true
		}
		if s.gone && !s.connected && now.Sub(s.aliveAt) >= fleet.GhostRetention {
			delete(f.members, uid)
		}
	}
}

// dialTime differs, so that a new manager hears one member after the other.
func dialTime(pod string) time.Duration { return time.Duration(ordinalOf(pod)) * Tick }

// hear takes in a record and echoes it.
func (f *Fleet) hear(s *stream, a *agent) {
	// The agent counts changes whether they are told by the stream or by an answer.
	a.moved()
	last := s.record
	s.record, s.heardAt = a.record(), f.w.now
	if s.silent || last == nil || last.AgentInstance != s.record.AgentInstance || last.Material != s.record.Material {
		f.woken = true
		f.w.busy()
	}
	s.silent = false
	if s.record.Epoch >= f.required {
		a.contacts.manager = f.w.now
	}
}

// Assign implements execute.Orders.
func (f *Fleet) Assign(_ context.Context, m fleet.Member, order wire.Assignment) (wire.Record, error) {
	return f.order("assign "+string(order.Role), m, func(a *agent) error { return a.assign(order) })
}

// HandOver implements execute.Orders.
func (f *Fleet) HandOver(_ context.Context, m fleet.Member, order wire.HandOver) (wire.Record, error) {
	return f.order("hand over", m, func(a *agent) error { return a.handOver(order) })
}

// Kill implements execute.Orders.
func (f *Fleet) Kill(_ context.Context, m fleet.Member, order wire.Kill) (wire.Record, error) {
	return f.order("kill", m, func(a *agent) error { return a.kill(order) })
}

// Refresh reads a record now.
func (f *Fleet) Refresh(_ context.Context, m fleet.Member) (wire.Record, error) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	s, a, err := f.reach(m)
	if err != nil {
		return wire.Record{}, err
	}
	f.hear(s, a)
	return *s.record, nil
}

// order carries out what an agent is told. The gate is asked without the lock, since it may copy the
// world; orders to several agents at once then overlap as they do in life.
func (f *Fleet) order(verb string, m fleet.Member, do func(*agent) error) (wire.Record, error) {
	write := apistore.Write{Verb: verb, Key: apistore.Key{Name: types.NamespacedName{Namespace: m.Namespace, Name: m.Pod}}}
	write.Key.Kind.Kind = "Agent"
	if f.gate.Before != nil {
		if err := f.gate.Before(write); err != nil {
			return wire.Record{}, err
		}
	}
	if err := f.carryOut(m, do); err != nil {
		return wire.Record{}, err
	}
	if f.gate.After != nil {
		if err := f.gate.After(write); err != nil {
			return wire.Record{}, err
		}
	}
	return f.Refresh(context.Background(), m)
}

func (f *Fleet) carryOut(m fleet.Member, do func(*agent) error) error {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	_, a, err := f.reach(m)
	if err != nil {
		return err
	}
	f.orders++
	f.w.obeyed++
	f.w.busy()
	return do(a)
}

func (f *Fleet) reach(m fleet.Member) (*stream, *agent, error) {
	s, a := f.members[types.UID(m.PodUID)], f.w.agents[types.UID(m.PodUID)]
	switch {
	case s == nil:
		return nil, nil, fleet.ErrUnknownMember
	case f.dead || !s.connected || a == nil || a.gone:
		return nil, nil, fleet.ErrNotConnected
	}
	return s, a, nil
}
