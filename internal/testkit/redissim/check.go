package redissim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
)

// checks remember what must not change back.
type checks struct {
	violation string
	// epochs, by cluster UID and by volume.
	epochs map[string]int64
	// secrets that were made and must not be made anew: what they say, by name.
	secrets map[string]string
	// trusted are the runs of servers that were seen to hold all confirmed writes when they began to confirm.
	trusted map[string]bool
	seen    int
	counts  map[string]Count
}

// Count is how often an object was made and deleted.
type Count struct{ Created, Deleted int }

func newChecks() checks {
	return checks{epochs: map[string]int64{}, secrets: map[string]string{}, trusted: map[string]bool{}, counts: map[string]Count{}}
}

func (c *checks) copy() checks {
	return checks{
		violation: c.violation, epochs: maps.Clone(c.epochs), secrets: maps.Clone(c.secrets),
		trusted: maps.Clone(c.trusted), seen: c.seen, counts: maps.Clone(c.counts),
	}
}

// Violation is the first thing that was seen and must never be; nil: there was none.
func (w *World) Violation() error {
	if w.checks.violation == "" {
		return nil
	}
	return fmt.Errorf("%s", w.checks.violation)
}

func (w *World) violated(format string, args ...any) {
	if w.checks.violation == "" {
		w.checks.violation = fmt.Sprintf("at %s: ", w.now.Format("04:05.000")) + fmt.Sprintf(format, args...)
	}
}

// check holds the world against the invariants.
func (w *World) check() {
	w.checkConfirmers()
	for name, d := range w.disks {
		w.checkEpoch("the volume of "+name+" for "+d.cluster, d.seen)
	}
	changes := w.Store.Changes(w.checks.seen)
	w.checks.seen += len(changes)
	for _, c := range changes {
		w.count(c)
		switch o := c.After.(type) {
		case *v1.RedisCluster:
			w.checkStatus(o)
		case *corev1.Secret:
			w.checkSecret(o)
		case *discoveryv1.EndpointSlice:
			if o.Name == naming.PrimaryService(w.Cluster.Name) && len(o.Endpoints) > 1 {
				w.violated("the primary Service leads to %d endpoints", len(o.Endpoints))
			}
		}
	}
}

// checkConfirmers: at most one server can confirm writes (I1), and it has all that were confirmed (I2).
func (w *World) checkConfirmers() {
	var able []string
	for _, a := range w.inOrder() {
		if a.server != nil && a.server.diverged {
			w.violated("%s resumed from %s although their data differ", a.pod, a.server.following)
		}
		if !a.canConfirm() {
			continue
		}
		able = append(able, a.pod)
		if !w.checks.trusted[a.server.runID] {
			w.checks.trusted[a.server.runID] = true
			w.checkHolds(a)
		}
	}
	if len(able) > 1 {
		w.violated("%s can all confirm writes", strings.Join(able, " and "))
	}
}

func (w *World) checkHolds(a *agent) {
	has := map[int]bool{}
	for _, id := range a.server.log {
		has[id] = true
	}
	for _, id := range w.clients.confirmed {
		if !has[id] {
			w.violated("%s serves as primary without write %d of %d, which was confirmed", a.pod, id, len(w.clients.confirmed))
			return
		}
	}
}

// checkConfirmed looks for all confirmed writes at the one that serves now, which may be alone.
func (w *World) checkConfirmed() error {
	for _, a := range w.inOrder() {
		if a.takesWrites() {
			w.checkHolds(a)
		}
	}
	return w.Violation()
}

func (w *World) checkEpoch(of string, epoch int64) {
	if epoch < w.checks.epochs[of] {
		w.violated("the epoch of %s went back from %d to %d", of, w.checks.epochs[of], epoch)
	}
	w.checks.epochs[of] = epoch
}

func (w *World) checkStatus(c *v1.RedisCluster) {
	epoch := c.Status.Epoch
	if t := c.Status.Transition; t != nil {
		epoch = max(epoch, t.Epoch)
	}
	w.checkEpoch("the status of "+string(c.UID), epoch)
}

// checkSecret: what was generated stays. A password may be changed by its user, who says so with Changed.
func (w *World) checkSecret(s *corev1.Secret) {
	var says string
	if len(s.OwnerReferences) == 0 {
		return
	}
	switch s.Name {
	case naming.CASecret(w.Cluster.Name):
		says = string(s.Data["ca.key"])
	case naming.InternalSecret(w.Cluster.Name):
		says = string(s.Data["replication"])
	case naming.AuthSecret(w.Cluster.Name):
		says = string(s.Data["password"])
	default:
		return
	}
	key := s.Name + " " + string(s.OwnerReferences[0].UID)
	if before, known := w.checks.secrets[key]; known && before != says {
		w.violated("Secret %s was made anew", s.Name)
	}
	w.checks.secrets[key] = says
}

// Forgive lets the content of a Secret change once, since a user changes it.
func (w *World) Forgive(s *corev1.Secret) {
	delete(w.checks.secrets, s.Name+" "+string(s.OwnerReferences[0].UID))
}

func (w *World) count(c apistore.Change) {
	name := c.Key.Kind.Kind + " " + c.Key.Name.Name
	n := w.checks.counts[name]
	switch {
	case c.Before == nil:
		n.Created++
	case c.After == nil:
		n.Deleted++
	}
	w.checks.counts[name] = n
}

// Counts is how often each object was made and deleted.
func (w *World) Counts() map[string]Count { return maps.Clone(w.checks.counts) }

// Confirmed is how many writes were confirmed.
func (w *World) Confirmed() int { return len(w.clients.confirmed) }

// Serving is the pod that takes writes, the first if there are several; empty: none does.
func (w *World) Serving() string {
	all := w.inOrder()
	i := slices.IndexFunc(all, (*agent).takesWrites)
	if i < 0 {
		return ""
	}
	return all[i].pod
}
