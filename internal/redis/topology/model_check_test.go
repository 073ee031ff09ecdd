package topology_test

import (
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

// fail stops with the story so far.
func (w *world) fail(format string, args ...any) {
	tail := w.trace[max(0, len(w.trace)-120):]
	w.t.Logf("%s", strings.Join(tail, "\n"))
	w.t.Fatalf(format, args...)
}

// check holds the world against I1 at every moment.
func (w *world) check() {
	var confirming, accepting []string
	for _, s := range w.servers() {
		if s.confirms(w) {
			confirming = append(confirming, s.pod.uid)
		}
		if s.acceptsWrites(w) {
			accepting = append(accepting, s.pod.uid)
		}
	}
	if len(confirming) > 1 {
		w.fail("I1: %v can confirm writes at the same time", confirming)
	}
	if len(accepting) > 1 && w.want.Replicas > 1 {
		w.fail("I1: %v take writes at the same time", accepting)
	}
}

// store is the API's side of a stored intent, and the moment at which a primary is made: whatever a client
// was told to be safe must be there.
func (w *world) store(i topology.Intent) {
	was := w.intent
	w.intent = i
	if i.Transition != nil || (was.Primary == i.Primary && was.PrimaryUID == i.PrimaryUID && was.Epoch == i.Epoch) {
		return
	}
	p := w.podOf(i.PrimaryUID)
	if p == nil || p.proc == nil || p.proc.server == nil || p.proc.server.dead {
		return
	}
	w.nothingIsLost(p.proc.server)
}

// nothingIsLost (I2): the primary has every confirmed write. With several faults, one may be missing of
// which every replica that confirmed it was restarted since: the only other copy was the former primary's.
func (w *world) nothingIsLost(p *server) {
	for id, x := range w.writes {
		if !x.confirmed || p.holds(id) {
			continue
		}
		if w.strict {
			w.fail("I2: %s leads without write %d, which was confirmed", p.pod.uid, id)
		}
		for h := range x.holders {
			if !h.dead {
				w.fail("I2: %s leads without write %d, which %s confirmed and never was restarted", p.pod.uid, id, h.pod.uid)
			}
		}
		// Lost by more than one fault: it is not asked for again.
		delete(w.writes, id)
	}
}

// heal ends all faults.
func (w *world) heal() {
	w.note("heal")
	clear(w.cuts)
	for _, n := range w.nodes {
		n.down, n.frozen, n.slow = false, false, false
	}
	for _, s := range w.servers() {
		s.hung = false
	}
	w.hub.down, w.hub.frozen = false, false
	w.want.Approved = true
	if w.manager == nil {
		w.manager = newManager(w)
	}
	w.zombie = nil
}

// settle lets everything heal and waits until every member serves in its role. It says whether that came about.
func (w *world) settle(limit time.Duration) bool {
	w.heal()
	calm := 0
	for end := w.now + limit; w.now < end; {
		w.tick()
		if w.settled() {
			if calm++; calm > 10 {
				w.nothingIsLost(w.podOf(w.intent.PrimaryUID).proc.server)
				return true
			}
		} else {
			calm = 0
		}
	}
	return false
}

// settled looks at the world itself, not at what the manager thinks of it.
func (w *world) settled() bool {
	p := w.podOf(w.intent.PrimaryUID)
	if w.intent.Transition != nil || p == nil || p.proc == nil || w.routed != p.uid || !p.proc.server.answers() {
		return false
	}
	if !p.proc.server.isPrimary || p.proc.server.fenced || w.lastDecision.State != topology.Settled {
		return false
	}
	for i, other := range w.pods {
		switch {
		case other != nil && other.terminating:
			return false
		case i >= w.want.Replicas && other != nil:
			return false
		case i >= w.want.Replicas || other == p:
			continue
		case other == nil || other.proc == nil || !other.proc.server.answers():
			return false
		case other.generation != w.generation || p.generation != w.generation:
			return false
		case !other.proc.server.linkUp || other.proc.server.following != p.address:
			return false
		}
	}
	return true
}

// mustSettle fails with a picture if the cluster does not come to rest. It may wait for a person where the
// API server lost what was stored and the members' data contradicts itself; it then returns false.
func (w *world) mustSettle(limit time.Duration) bool {
	if w.settle(limit) {
		return true
	}
	if w.statusLost && w.lastDecision.State == topology.DivergentData {
		return false
	}
	w.fail("not settled after %s: %s %q\n%s", limit, w.lastDecision.State, w.lastDecision.Why, redisstate.Picture(w.observe(w.manager)))
	return false
}

// restIsQuiet (I9): a settled cluster is left alone.
func (w *world) restIsQuiet() {
	stored, routed := w.intent, w.routed
	for range 100 {
		w.tick()
	}
	if w.intent.Epoch != stored.Epoch || w.routed != routed || w.intent.Transition != nil {
		w.fail("I9: a settled cluster was changed: %+v, before %+v", w.intent, stored)
	}
}
