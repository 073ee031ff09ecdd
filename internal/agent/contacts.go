package agent

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// never is the time of a contact that did not happen.
const never time.Duration = -1

// contacts remembers when the manager and the peers were last in touch, by this agent's clock. A
// contact counts from the moment when this agent sent what was answered, so that a delay on the
// way never makes a contact younger than it is.
type contacts struct {
	// manager: SentMono of the newest record that the manager has confirmed.
	manager time.Duration
	// assigned is when the newest assignment arrived; isolation counts from there at the earliest.
	assigned time.Duration
	peers    map[string]*peerContact
	// highestPeerEpoch that any peer of the same cluster has named.
	highestPeerEpoch int64
}

type peerContact struct {
	// answered: when the newest answered call was sent.
	answered time.Duration
	// agreed: the same, of calls whose answer named no higher epoch than our own.
	agreed time.Duration
	// called: when the peer's newest call was answered.
	called time.Duration
}

func newContacts() contacts {
	return contacts{manager: never, assigned: never, peers: map[string]*peerContact{}}
}

// setPeers forgets peers that are not in the list and adds the new ones.
func (c *contacts) setPeers(list []wire.PeerAddress) {
	next := make(map[string]*peerContact, len(list))
	for _, p := range list {
		if known, ok := c.peers[p.Pod]; ok {
			next[p.Pod] = known
			continue
		}
		next[p.Pod] = &peerContact{answered: never, agreed: never, called: never}
	}
	c.peers = next
}

func (c *contacts) managerAt(sent time.Duration) { c.manager = max(c.manager, sent) }

// peerAnswered notes the answer to a call sent at sent, while the agent's own epoch was own.
func (c *contacts) peerAnswered(answer wire.Peer, sent time.Duration, own int64) {
	c.highestPeerEpoch = max(c.highestPeerEpoch, answer.Epoch)
	p, ok := c.peers[answer.Pod]
	if !ok {
		return
	}
	p.answered = max(p.answered, sent)
	if answer.Epoch <= own {
		p.agreed = max(p.agreed, sent)
	}
}

func (c *contacts) peerCalled(pod string, now time.Duration) {
	if p, ok := c.peers[pod]; ok {
		p.called = now
	}
}

// managerFresh says whether the manager is known to have heard this agent less than d ago.
func (c *contacts) managerFresh(now, d time.Duration) bool {
	return c.manager != never && now-c.manager < d
}

// agreeing counts the peers that agreed less than d ago.
func (c *contacts) agreeing(now, d time.Duration) int {
	n := 0
	for _, p := range c.peers {
		if p.agreed != never && now-p.agreed < d {
			n++
		}
	}
	return n
}

// agreedAt is the latest time at which n peers had agreed; never if fewer have.
func (c *contacts) agreedAt(n int) time.Duration {
	all := make([]time.Duration, 0, len(c.peers))
	for _, p := range c.peers {
		all = append(all, p.agreed)
	}
	if len(all) < n {
		return never
	}
	slices.Sort(all)
	return all[len(all)-n]
}

// silent names the peers that have not answered for d or longer, sorted.
func (c *contacts) silent(now, d time.Duration) []string {
	var names []string
	for name, p := range c.peers {
		if p.answered == never || now-p.answered >= d {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// lastTouch is when anybody was last in touch.
func (c *contacts) lastTouch() time.Duration {
	all := []time.Duration{c.manager, c.assigned}
	for _, p := range c.peers {
		all = append(all, p.answered)
	}
	return slices.Max(all)
}

// heard renders the contacts for a record.
func (c *contacts) heard(now time.Duration) map[string]wire.PeerHeard {
	out := make(map[string]wire.PeerHeard, len(c.peers))
	for pod, p := range c.peers {
		out[pod] = wire.PeerHeard{AnsweredMillis: millisSince(p.answered, now), CalledMillis: millisSince(p.called, now)}
	}
	return out
}

func millisSince(then, now time.Duration) int64 {
	if then == never {
		return -1
	}
	return (now - then).Milliseconds()
}
