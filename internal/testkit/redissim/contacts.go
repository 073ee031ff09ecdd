package redissim

import (
	"maps"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// greetEvery is how often an agent calls its peers.
const greetEvery = 500 * time.Millisecond

// contacts are the times at which an agent and others were in touch; zero: never.
type contacts struct {
	manager  time.Time
	assigned time.Time
	greeted  time.Time
	highest  int64
	peers    map[string]contact
}

type contact struct {
	host                     string
	answered, agreed, called time.Time
}

func newContacts(now time.Time) contacts {
	return contacts{greeted: now, peers: map[string]contact{}}
}

func (c *contacts) copy() contacts {
	next := *c
	next.peers = maps.Clone(c.peers)
	return next
}

func (c *contacts) setPeers(list []wire.PeerAddress) {
	next := map[string]contact{}
	for _, p := range list {
		known := c.peers[p.Pod]
		known.host = p.Host
		next[p.Pod] = known
	}
	c.peers = next
}

// greetPeers calls all peers now and then.
func (a *agent) greetPeers(now time.Time) {
	if now.Sub(a.contacts.greeted) < greetEvery {
		return
	}
	a.contacts.greeted = now
	for name, p := range a.contacts.peers {
		o := a.w.at(p.host)
		if o == nil || o.cluster != a.cluster {
			continue
		}
		if called, known := o.contacts.peers[a.pod]; known {
			called.called = now
			o.contacts.peers[a.pod] = called
		}
		o.contacts.highest = max(o.contacts.highest, a.disk.seen)
		a.contacts.highest = max(a.contacts.highest, o.disk.seen)
		p.answered = now
		if o.disk.seen <= a.disk.seen {
			p.agreed = now
		}
		a.contacts.peers[name] = p
	}
}

func (a *agent) leaseHolds(now time.Time) bool {
	o := a.assigned
	if !a.granted || o == nil || len(o.Peers) == 0 || o.LeasePeers <= 0 {
		return true
	}
	agreeing := 0
	for _, p := range a.contacts.peers {
		if !p.agreed.IsZero() && now.Sub(p.agreed) < o.Lease {
			agreeing++
		}
	}
	return now.Sub(a.contacts.manager) < o.Lease || agreeing >= o.LeasePeers
}

// checkLease blocks writes when the lease has run out, and lifts the block on the manager's word only.
func (a *agent) checkLease(now time.Time) {
	switch {
	case !a.fenced && !a.leaseHolds(now):
		a.fenced, a.fencedAt = true, a.disk.seen
	case a.fenced && a.granted && now.Sub(a.contacts.manager) < a.assigned.Lease &&
		a.disk.seen == a.fencedAt && a.contacts.highest <= a.disk.seen:
		a.fenced = false
	}
}

func (a *agent) isIsolated(now time.Time) bool {
	o := a.assigned
	if a.server == nil || o == nil || len(o.Peers) == 0 || o.Isolation <= 0 {
		return false
	}
	last := a.contacts.assigned
	if a.contacts.manager.After(last) {
		last = a.contacts.manager
	}
	for _, p := range a.contacts.peers {
		if p.answered.After(last) {
			last = p.answered
		}
	}
	return now.Sub(last) >= o.Isolation
}

func (c *contacts) heard(now time.Time) map[string]wire.PeerHeard {
	out := map[string]wire.PeerHeard{}
	for pod, p := range c.peers {
		out[pod] = wire.PeerHeard{AnsweredMillis: since(p.answered, now), CalledMillis: since(p.called, now)}
	}
	return out
}

func since(then, now time.Time) int64 {
	if then.IsZero() {
		return -1
	}
	return now.Sub(then).Milliseconds()
}
