package fleet

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// GhostRetention is how long a member that left the list stays visible after its stream broke.
const GhostRetention = 60 * time.Second

// DialFunc opens a network connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Options of a Fleet.
type Options struct {
	// Wake asks for a pass of a cluster's reconciler. It is called without a lock held and must
	// not block.
	Wake func(types.NamespacedName)
	// Clock; nil: the real one.
	Clock clock.WithTickerAndDelayedExecution
	// Logger for what happens to streams.
	Logger logr.Logger
	// Dial; nil: a net.Dialer. Tests put faults in here.
	Dial DialFunc
}

// TLSSource yields what a connection to a cluster's agents is secured with: trust in the cluster's
// authority, the name expected in the agents' certificate, and the manager's own certificate.
type TLSSource interface {
	Config(now time.Time) (*tls.Config, error)
}

// Target is what the fleet shall do for one cluster.
type Target struct {
	// Members to be in touch with. One that is missing here but was there before becomes a ghost.
	Members []Member
	// TLS is asked at each dial; a change leaves open streams alone.
	TLS TLSSource
	// Detection is the silence after which the cluster is woken once.
	Detection time.Duration
	// RequiredEpoch is as if RequireEpoch were called before the first echo.
	RequiredEpoch int64
}

// Fleet holds the streams to all agents of all clusters. It works between Start and the end of
// Start's context; what is synced before is dialled on Start.
type Fleet struct {
	options Options

	mu       sync.Mutex
	running  context.Context // nil before Start; links end with it
	links    sync.WaitGroup
	clusters map[types.NamespacedName]*clusterState
	stall    stallWatch
}

// clusterState is guarded by Fleet.mu.
type clusterState struct {
	uid       string
	dialer    *dialer
	detection time.Duration
	byPodUID  map[string]*memberState
	// required is the epoch below which no record is echoed.
	required int64
}

// New makes a Fleet.
func New(o Options) *Fleet {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	return &Fleet{options: o, clusters: map[types.NamespacedName]*clusterState{}}
}

// NeedLeaderElection makes the manager start the fleet on the leader only.
func (f *Fleet) NeedLeaderElection() bool { return true }

// Start dials and serves until ctx ends, then closes every stream before it returns.
func (f *Fleet) Start(ctx context.Context) error {
	f.mu.Lock()
	f.running = ctx
	for _, c := range f.clusters {
		for _, m := range c.byPodUID {
			f.connect(ctx, c, m)
		}
	}
	f.mu.Unlock()

	f.watchSilence(ctx)
	f.links.Wait()
	return nil
}

// Sync tells the fleet what a cluster looks like. Calling it again with the same target changes
// nothing, except that a member that is not connected is dialled at once: the reconciler runs
// because something happened, and the pod may just have come up.
func (f *Fleet) Sync(cluster types.NamespacedName, target Target) {
	f.mu.Lock()
	defer f.mu.Unlock()

	c := f.ensureCluster(cluster, target)
	listed := make(map[string]bool, len(target.Members))
	for _, member := range target.Members {
		listed[member.PodUID] = true
		f.syncMember(c, member)
	}
	now := f.options.Clock.Now()
	for uid, m := range c.byPodUID {
		m.gone = !listed[uid]
		f.dropIfPast(c, m, now)
	}
}

// ensureCluster is called with the lock held. A cluster made again under its old name shares
// nothing with the one before.
func (f *Fleet) ensureCluster(name types.NamespacedName, target Target) *clusterState {
	uid := ""
	if len(target.Members) > 0 {
		uid = target.Members[0].ClusterUID
	}
	c := f.clusters[name]
	if c != nil && uid != "" && c.uid != "" && c.uid != uid {
		f.forget(name)
		c = nil
	}
	if c == nil {
		c = &clusterState{byPodUID: map[string]*memberState{}, dialer: newDialer(f.options.Dial, f.options.Clock)}
		f.clusters[name] = c
	}
	if uid != "" {
		c.uid = uid
	}
	c.dialer.setTLS(target.TLS)
	c.detection = target.Detection
	c.required = max(c.required, target.RequiredEpoch)
	return c
}

// syncMember is called with the lock held.
func (f *Fleet) syncMember(c *clusterState, member Member) {
	m := c.byPodUID[member.PodUID]
	if m == nil {
		m = &memberState{Member: member, since: f.options.Clock.Now()}
		c.byPodUID[member.PodUID] = m
	}
	if moved := member.Address != m.Address && member.Address != ""; moved {
		m.disconnect("the pod has a new address")
	}
	if member.Address == "" {
		// A pod that lost its address in the API may still be connected; the stream knows better.
		member.Address = m.Address
	}
	m.Member = member
	f.connect(f.running, c, m)
}

// connect is called with the lock held. It starts the member's link, or makes one that waits dial
// at once. The context is that of Start, nil before it.
func (f *Fleet) connect(ctx context.Context, c *clusterState, m *memberState) {
	switch {
	case ctx == nil || ctx.Err() != nil || m.Address == "":
	case m.link != nil:
		m.link.hurry()
	default:
		ctx, cancel := context.WithCancel(ctx)
		l := newLink(f, c.dialer, m)
		l.cancel = cancel
		m.link = l
		f.links.Go(func() {
			defer cancel()
			l.run(ctx)
		})
	}
}

// Contacts is what is known of a cluster's members now, ghosts included, ordered by pod name.
func (f *Fleet) Contacts(cluster types.NamespacedName) []Contact {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.options.Clock.Now()
	f.stall.check(now)
	c := f.clusters[cluster]
	if c == nil {
		return nil
	}
	contacts := make([]Contact, 0, len(c.byPodUID))
	for _, m := range c.byPodUID {
		if !f.dropIfPast(c, m, now) {
			contacts = append(contacts, m.contact(f.stall.over))
		}
	}
	slices.SortFunc(contacts, compareContacts)
	return contacts
}

// Forget closes all streams of a cluster and drops what is known of it.
func (f *Fleet) Forget(cluster types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(cluster)
}

func (f *Fleet) forget(cluster types.NamespacedName) {
	c := f.clusters[cluster]
	if c == nil {
		return
	}
	for _, m := range c.byPodUID {
		m.disconnect("the cluster is forgotten")
	}
	delete(f.clusters, cluster)
}

// dropIfPast is called with the lock held. It forgets a ghost whose time is over.
func (f *Fleet) dropIfPast(c *clusterState, m *memberState, now time.Time) bool {
	if !m.past(now) {
		return false
	}
	m.disconnect("the pod is gone")
	delete(c.byPodUID, m.PodUID)
	return true
}

// heard takes in a record that came over l's stream. It wakes the cluster if the record changes
// something, and fails if the record does not belong to l's member.
func (f *Fleet) heard(l *link, r *wire.Record) error {
	if err := l.verify(r); err != nil {
		return err
	}
	f.mu.Lock()
	m := l.member
	if m.link != l {
		f.mu.Unlock()
		return errReplaced
	}
	opened := m.conn == nil
	now := f.options.Clock.Now()
	if opened {
		m.open(l, now)
	}
	changed := m.observe(r, now)
	f.mu.Unlock()

	if opened {
		l.log.V(1).Info("stream opened", "agentVersion", r.AgentVersion, "agentInstance", r.AgentInstance)
	}
	if opened || changed {
		f.wake(l)
	}
	return nil
}

// broke notes that l has no stream any more, and wakes the cluster if it had one.
func (f *Fleet) broke(l *link, cause error) {
	f.mu.Lock()
	m := l.member
	if m.link != l {
		f.mu.Unlock()
		return
	}
	was := m.conn != nil
	m.closed(cause.Error(), f.options.Clock.Now())
	f.mu.Unlock()
	if was {
		l.log.V(1).Info("stream broke", "cause", cause.Error())
		f.wake(l)
	}
}

func (f *Fleet) wake(l *link) {
	if f.running.Err() == nil && f.options.Wake != nil {
		f.options.Wake(l.cluster)
	}
}
