package fleet

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Member is one pod whose agent the fleet talks to. PodUID identifies it; the other fields may
// change, and a new Address means a new connection.
type Member struct {
	Namespace  string
	Cluster    string
	ClusterUID string
	Pod        string
	PodUID     string
	// Address of the agent, host:port; empty as long as the pod has none.
	Address string
}

func (m Member) cluster() types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Cluster}
}

// Contact is what is known of a member at one moment. All times are readings of the manager's
// clock and must be compared on its monotonic part only.
type Contact struct {
	Member
	// Connected: the stream is open and has delivered at least one record of this very pod.
	// The opposite proves nothing about the member.
	Connected bool
	// Gone: the pod is no longer in the list given to Sync. A process whose pod object was
	// force-deleted may live on; it stays visible, and takes orders, while its stream lives, and
	// for GhostRetention after the stream broke.
	Gone bool
	// Record is the newest, nil before the first; it must not be changed.
	Record *wire.Record
	// HeardAt is when the last record or answer arrived; zero before the first.
	HeardAt time.Time
	// OpenedAt is when the present stream was opened, or the last one if there is none.
	OpenedAt time.Time
	// SilentSince is where the member's silence starts: HeardAt, or the moment the fleet first
	// wanted the member, or the end of the manager's own last stall if that is later. A manager
	// that did not run must not take its own absence for the member's.
	SilentSince time.Time
	// StreamErr says why there is no stream, for people; empty while connected.
	StreamErr string
}

// SilentFor is how long nothing was heard of the member at now.
func (c Contact) SilentFor(now time.Time) time.Duration {
	return max(0, now.Sub(c.SilentSince))
}

// compareContacts orders contacts by pod; of two with one name the present pod comes first.
func compareContacts(a, b Contact) int {
	return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.PodUID, b.PodUID))
}

func (c Contact) rank() int {
	if c.Gone {
		return 1
	}
	return 0
}
