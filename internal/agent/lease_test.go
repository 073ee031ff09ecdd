package agent

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

func answer(pod string, epoch int64) wire.Peer {
	return wire.Peer{Pod: pod, Cluster: cluster, Epoch: epoch}
}

func TestHowLongALeaseHolds(t *testing.T) {
	t.Parallel()
	// The assignment of epoch 5 arrives at second 0; a lease is 2 s and one peer keeps it.
	cases := map[string]struct {
		change func(*wire.Assignment)
		events func(*member)
		holds  map[float64]bool
	}{
		"from the assignment on":              {holds: map[float64]bool{1.9: true, 2: false}},
		"from the manager's newest echo":      {events: func(m *member) { m.contacts.managerAt(at(1)) }, holds: map[float64]bool{2.9: true, 3: false}},
		"an older echo changes nothing":       {events: func(m *member) { m.contacts.managerAt(at(1)); m.contacts.managerAt(at(0.5)) }, holds: map[float64]bool{2.9: true, 3: false}},
		"from when a peer was called":         {events: func(m *member) { m.contacts.peerAnswered(answer("one", 5), at(3), 5) }, holds: map[float64]bool{4.9: true, 5: false}},
		"a peer of an earlier epoch agrees":   {events: func(m *member) { m.contacts.peerAnswered(answer("one", 3), at(3), 5) }, holds: map[float64]bool{4.9: true}},
		"a peer of a later epoch does not":    {events: func(m *member) { m.contacts.peerAnswered(answer("one", 6), at(3), 5) }, holds: map[float64]bool{1.9: true, 2: false}},
		"a stranger does not":                 {events: func(m *member) { m.contacts.peerAnswered(answer("other", 5), at(3), 5) }, holds: map[float64]bool{2: false}},
		"two peers are needed and one agrees": {change: func(a *wire.Assignment) { a.LeasePeers = 2 }, events: func(m *member) { m.contacts.peerAnswered(answer("one", 5), at(3), 5) }, holds: map[float64]bool{2: false}},
		"two peers are needed, the slower decides": {change: func(a *wire.Assignment) { a.LeasePeers = 2 }, events: func(m *member) {
			m.contacts.peerAnswered(answer("one", 5), at(3), 5)
			m.contacts.peerAnswered(answer("two", 5), at(2), 5)
		}, holds: map[float64]bool{3.9: true, 4: false}},
		"without peers none is needed":               {change: func(a *wire.Assignment) { a.Peers = nil }, holds: map[float64]bool{1000: true}},
		"without lease peers none is needed":         {change: func(a *wire.Assignment) { a.LeasePeers = 0 }, holds: map[float64]bool{1000: true}},
		"an assignment that lay about is no contact": {change: func(a *wire.Assignment) { a.HeardMono = 1 }, holds: map[float64]bool{1.99: true, 2: false}},
		"a peer that left keeps nothing": {events: func(m *member) {
			m.contacts.peerAnswered(answer("one", 5), at(3), 5)
			m.contacts.setPeers(peersNamed("two"))
		}, holds: map[float64]bool{2: false}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMember()
			a := assignment(wire.RolePrimary, 5)
			if c.change != nil {
				c.change(&a)
			}
			m.give(a, 0)
			if c.events != nil {
				c.events(m)
			}
			for second, want := range c.holds {
				if m.leaseHolds(at(second)) != want {
					t.Errorf("at %v s it holds: %v", second, !want)
				}
			}
		})
	}
}

func TestWhoIsFenced(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		role   wire.Role
		change func(*member)
		want   fence
	}{
		"a primary":                              {wire.RolePrimary, nil, fenceWanted},
		"a replica":                              {wire.RoleReplica, nil, fenceOff},
		"a held server":                          {wire.RoleHeld, nil, fenceOff},
		"a hand-over's target before it is told": {wire.RoleReplica, func(m *member) { m.answered(at(1), &Observation{Loaded: true, Role: wire.RolePrimary}) }, fenceWanted},
		"a server whose promotion got no answer": {wire.RolePrimary, func(m *member) { m.observed.Role = wire.RoleHeld }, fenceWanted},
		"a primary whose server has died":        {wire.RolePrimary, func(m *member) { m.stripped(); m.observed = nil }, fenceOff},
		"a server that is yet to become primary": {wire.RoleHeld, func(m *member) { m.accept(assignment(wire.RolePrimary, 6), "x", 0) }, fenceOff},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMember()
			m.give(assignment(c.role, 5), 0)
			if c.change != nil {
				c.change(m)
			}
			m.checkLease(at(1))
			if m.fence != fenceOff {
				t.Errorf("fence is %s while the lease holds", m.fence)
			}
			m.checkLease(at(2))
			if m.fence != c.want {
				t.Errorf("fence is %s", m.fence)
			}
		})
	}
}

func TestWhatLiftsAFence(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		event func(*member)
		want  bool
	}{
		"nothing":                     {func(*member) {}, false},
		"a fresh echo":                {func(m *member) { m.contacts.managerAt(at(9.5)) }, true},
		"an echo of what is long ago": {func(m *member) { m.contacts.managerAt(at(7)) }, false},
		"peers": {func(m *member) {
			m.contacts.peerAnswered(answer("one", 5), at(9.5), 5)
			m.contacts.peerAnswered(answer("two", 5), at(9.5), 5)
		}, false},
		"an echo after a later epoch":      {func(m *member) { m.seeEpoch(6, at(9)); m.contacts.managerAt(at(9.5)) }, false},
		"an echo after a peer's later":     {func(m *member) { m.contacts.peerAnswered(answer("one", 6), at(3), 5); m.contacts.managerAt(at(9.5)) }, false},
		"an assignment":                    {func(m *member) { m.accept(assignment(wire.RolePrimary, 6), "x", at(9.5)) }, true},
		"an assignment that lay about":     {func(m *member) { a := assignment(wire.RolePrimary, 6); a.HeardMono = 1; m.accept(a, "x", at(9.5)) }, false},
		"an echo after the server's death": {func(m *member) { m.stripped(); m.contacts.managerAt(at(9.5)) }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMember()
			m.give(assignment(wire.RolePrimary, 5), 0)
			m.checkLease(at(2))
			m.fence = fenceOn
			c.event(m)
			if m.fenceMayLift(at(10)) != c.want {
				t.Errorf("may lift: %v", !c.want)
			}
		})
	}
}

func TestAFenceThatIsNotConfirmedIsLate(t *testing.T) {
	t.Parallel()
	m := newTestMember()
	m.give(assignment(wire.RolePrimary, 5), 0)
	for second, want := range map[float64]bool{2: false, 2.24: false, 2.25: true, 60: true} {
		m.checkLease(at(second))
		if m.fenceIsLate(at(second)) != want {
			t.Errorf("at %v s it is late: %v", second, !want)
		}
	}
	m.fence = fenceOn
	if m.fenceIsLate(at(60)) {
		t.Error("a fence that is on is late")
	}
}

func TestWhoIsIsolated(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*wire.Assignment)
		event  func(*member)
		at     map[float64]bool
	}{
		"nobody since the assignment":      {at: map[float64]bool{9.9: false, 10: true}},
		"the manager was there":            {event: func(m *member) { m.contacts.managerAt(at(4)) }, at: map[float64]bool{13.9: false, 14: true}},
		"a peer was there":                 {event: func(m *member) { m.contacts.peerAnswered(answer("two", 5), at(4), 5) }, at: map[float64]bool{13.9: false, 14: true}},
		"a peer of a later epoch, too":     {event: func(m *member) { m.contacts.peerAnswered(answer("two", 9), at(4), 5) }, at: map[float64]bool{13.9: false}},
		"a call that came in is no answer": {event: func(m *member) { m.contacts.peerCalled("two", at(4)) }, at: map[float64]bool{10: true}},
		"no peers":                         {change: func(a *wire.Assignment) { a.Peers = nil }, at: map[float64]bool{1000: false}},
		"no limit":                         {change: func(a *wire.Assignment) { a.Isolation = 0 }, at: map[float64]bool{1000: false}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMember()
			a := assignment(wire.RoleReplica, 5)
			if c.change != nil {
				c.change(&a)
			}
			m.give(a, 0)
			if c.event != nil {
				c.event(m)
			}
			for second, want := range c.at {
				if m.isIsolated(at(second)) != want {
					t.Errorf("at %v s: %v", second, !want)
				}
			}
		})
	}
	if newTestMember().isIsolated(at(1000)) {
		t.Error("a member without an assignment is isolated")
	}
}

// Whatever happens, writes are never possible without the fence for longer than a lease and the
// time to fence after anybody that keeps the lease was last in touch.
func TestNoContactNoWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newTestMember()
		a := assignment(wire.RolePrimary, 5)
		a.LeasePeers = rapid.IntRange(1, 2).Draw(t, "leasePeers")
		m.give(a, 0)
		now, manager, agreed := time.Duration(0), time.Duration(0), map[string]time.Duration{}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now += time.Duration(rapid.IntRange(1, 900).Draw(t, "ms")) * time.Millisecond
			m.checkLease(now)
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				sent := now - time.Duration(rapid.IntRange(0, 3000).Draw(t, "age"))*time.Millisecond
				m.contacts.managerAt(sent)
				manager = max(manager, sent)
			case 1:
				pod := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "pod")
				epoch := rapid.Int64Range(4, 6).Draw(t, "epoch")
				m.contacts.peerAnswered(answer(pod, epoch), now, 5)
				if epoch <= 5 {
					agreed[pod] = now
				}
			}
			fresh := 0
			for _, sent := range agreed {
				if now-sent < a.Lease {
					fresh++
				}
			}
			m.checkLease(now)
			if m.fence == fenceOff && now-manager >= a.Lease && fresh < a.LeasePeers {
				t.Fatalf("at %s writes are possible; manager %s, peers %v", now, manager, agreed)
			}
		}
	})
}
