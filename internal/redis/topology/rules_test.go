package topology_test

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

// failer is what a rule complains to.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// mustBeLawful holds a decision against rules that are worded anew here, from the invariants and not
// from the code that decides.
func mustBeLawful(t failer, s topology.State, d topology.Decision) {
	t.Helper()
	storeComesFirst(t, s, d)
	oneDisruption(t, d)
	namesUIDs(t, s, d)
	ignoresTheUnknown(t, s, d)
	electsLawfully(t, s, d)
	sparesData(t, s, d)
	if d.WakeAfter < 0 {
		t.Errorf("wake after %s", d.WakeAfter)
	}
	if d.Why == "" || d.State == "" {
		t.Errorf("state %q without a name or a reason %q", d.State, d.Why)
	}
}

// storeComesFirst (I4): whatever is done in an epoch or for a primary was stored before, in the state or
// by an earlier step.
func storeComesFirst(t failer, s topology.State, d topology.Decision) {
	t.Helper()
	stored := []topology.Intent{s.Intent}
	for _, step := range d.Steps {
		switch {
		case step.Store != nil:
			stored = append(stored, *step.Store)
			isComplete(t, s, *step.Store)
		case step.Route != nil && step.Route.Pod != "":
			if !slices.ContainsFunc(stored, func(i topology.Intent) bool {
				return i.Transition == nil && i.Primary == step.Route.Pod && i.PrimaryUID == step.Route.UID
			}) {
				t.Errorf("%s before it is stored as primary", redisstate.Step(step))
			}
		case step.Assign != nil:
			assignIsStored(t, stored, *step.Assign)
		case step.HandOver != nil:
			if i := stored[len(stored)-1].Transition; i == nil || i.To != step.HandOver.To || i.Epoch != step.HandOver.Epoch {
				t.Errorf("%s before it is stored", redisstate.Step(step))
			}
		}
	}
}

// isComplete: what is stored says whom to fence, and whose heirs will be known by which lineage.
func isComplete(t failer, s topology.State, i topology.Intent) {
	t.Helper()
	if tr := i.Transition; tr != nil && tr.From != "" && tr.FromUID == "" && s.Intent.PrimaryUID != "" {
		t.Errorf("nobody would be fenced: %+v", *tr)
	}
	p := memberOf(s, i.Primary)
	if i.Transition == nil && p != nil && p.Agent != nil && p.Agent.Facts.IsPrimary && i.PrimaryUID == p.Pod.UID &&
		i.ReplID != p.Agent.Facts.ReplID && i.ReplID != s.Intent.ReplID {
		t.Errorf("%s is stored with the lineage %s, and has %s", p.Name, i.ReplID, p.Agent.Facts.ReplID)
	}
	if i.Transition == nil && s.Intent.Transition != nil && s.Intent.Transition.To == i.Primary && i.Primary != s.Intent.Primary &&
		p != nil && i.ReplID != p.Agent.Facts.ReplID {
		t.Errorf("%s is made primary with the lineage %s, and has %s", p.Name, i.ReplID, p.Agent.Facts.ReplID)
	}
}

func assignIsStored(t failer, stored []topology.Intent, a topology.Assign) {
	t.Helper()
	for name, role := range a.Roles {
		if role == topology.Replica && !slices.Contains(stored[len(stored)-1].SyncSet, name) {
			t.Errorf("%s is to follow, and is not in the stored sync set", name)
		}
		if role != topology.Primary {
			continue
		}
		if !slices.ContainsFunc(stored, func(i topology.Intent) bool {
			elected := i.Transition != nil && i.Transition.To == name && i.Transition.Epoch == a.Epoch
			return elected || (i.Primary == name && i.Epoch == a.Epoch)
		}) {
			t.Errorf("%s made primary @%d before it is stored", name, a.Epoch)
		}
	}
}

// oneDisruption (I8). Telling a primary again what it is disrupts nothing.
func oneDisruption(t failer, d topology.Decision) {
	t.Helper()
	var n int
	for _, step := range d.Steps {
		if step.Kill != nil || step.HandOver != nil || step.DeletePod != nil {
			n++
		}
	}
	if n > 1 {
		t.Errorf("%d disruptive steps: %v", n, redisstate.Words(d))
	}
}

// namesUIDs (I6): what is deleted or killed is there under that UID, in the API or as a ghost.
func namesUIDs(t failer, s topology.State, d topology.Decision) {
	t.Helper()
	for _, step := range d.Steps {
		var uid string
		switch {
		case step.Kill != nil:
			uid = step.Kill.UID
		case step.DeletePod != nil:
			uid = step.DeletePod.UID
		case step.Route != nil && step.Route.Pod != "":
			uid = step.Route.UID
		default:
			continue
		}
		pod := slices.ContainsFunc(s.Members, func(m topology.Member) bool { return m.Pod.Exists && m.Pod.UID == uid })
		ghost := slices.ContainsFunc(s.Ghosts, func(g topology.Ghost) bool { return g.UID == uid })
		if uid == "" || (!pod && (!ghost || step.Kill == nil)) {
			t.Errorf("%s names a UID that is not there", redisstate.Step(step))
		}
	}
}

// speaks says whether the manager hears the member now.
func speaks(s topology.State, m topology.Member) bool {
	return m.Pod.Exists && m.Agent != nil && m.Link.Connected && m.Link.Silent < s.Want.Detection && !m.Agent.Final
}

// ignoresTheUnknown (I3): nobody is told, killed, deleted or promoted while nobody speaks; a member that
// is silent is given no role and its pod is not deleted, unless Kubernetes itself says that it is broken.
func ignoresTheUnknown(t failer, s topology.State, d topology.Decision) {
	t.Helper()
	for _, step := range d.Steps {
		switch {
		case step.Assign != nil:
			for name := range step.Assign.Roles {
				if m := memberOf(s, name); m == nil || !speaks(s, *m) {
					t.Errorf("%s: %s does not speak", redisstate.Step(step), name)
				}
			}
		case step.Kill != nil:
			ghost := slices.ContainsFunc(s.Ghosts, func(g topology.Ghost) bool { return g.UID == step.Kill.UID && g.Connected })
			m := memberOf(s, step.Kill.Pod)
			if !ghost && (m == nil || !speaks(s, *m)) {
				t.Errorf("%s: it does not speak", redisstate.Step(step))
			}
		case step.DeletePod != nil:
			m := memberOf(s, step.DeletePod.Pod)
			if m == nil || len(m.Pod.Outdated) == 0 {
				t.Errorf("%s: nothing about it is outdated", redisstate.Step(step))
			}
		}
	}
}

func memberOf(s topology.State, name string) *topology.Member {
	for i := range s.Members {
		if s.Members[i].Name == name {
			return &s.Members[i]
		}
	}
	return nil
}

// electsLawfully (I1, I2, I7): a failover names a candidate only if the former primary cannot write and
// every confirmed write is among the data to choose from.
func electsLawfully(t failer, s topology.State, d topology.Decision) {
	t.Helper()
	was := s.Intent.Transition
	for _, step := range d.Steps {
		if step.Store == nil || step.Store.Transition == nil || step.Store.Transition.Kind == topology.HandOver {
			continue
		}
		is := step.Store.Transition
		if is.To == "" {
			continue
		}
		if was == nil || was.Epoch != is.Epoch {
			t.Errorf("%s is elected in an epoch that was not stored before", is.To)
			continue
		}
		if m := memberOf(s, is.To); m == nil || !standsStill(s, *m, is.Epoch) {
			t.Errorf("%s is elected and is not held", is.To)
			continue
		}
		if !cannotWrite(s, *was) {
			t.Errorf("%s is elected while %s may take writes", is.To, was.From)
		}
		if !s.Want.AcceptLoss && !nothingIsMissing(s, is.Epoch) {
			t.Errorf("%s is elected while confirmed writes may be elsewhere", is.To)
		}
	}
}

// standsStill: its data moves no more, and it confirms nothing.
func standsStill(s topology.State, m topology.Member, epoch int64) bool {
	if !speaks(s, m) || m.Agent.Phase != topology.Running || m.Agent.Facts.Loading {
		return false
	}
	return !m.Agent.Facts.IsPrimary && m.Agent.Facts.Following == "" && m.Agent.Epoch >= epoch
}

// cannotWrite is the fence in other words: a proof that the server is dead or obeys, or that everybody
// who could have prolonged its lease has let it run out.
func cannotWrite(s topology.State, t topology.Transition) bool {
	if t.FromUID == "" {
		return true
	}
	m := memberOf(s, t.From)
	there := m != nil && m.Pod.Exists && m.Pod.UID == t.FromUID
	silent := s.WatchedFor
	if there {
		if m.Agent != nil && m.Agent.Final {
			return true
		}
		if speaks(s, *m) {
			a := m.Agent
			gone := a.Phase == topology.Down || a.Phase == topology.Waiting || a.Phase == topology.Starting
			return gone || (a.Phase == topology.Running && !a.Facts.IsPrimary && a.Epoch >= t.Epoch)
		}
		silent = m.Link.Silent
	}
	for _, g := range s.Ghosts {
		if there || g.UID != t.FromUID {
			continue
		}
		if g.Dead {
			return true
		}
		if g.Connected {
			return false
		}
		silent = g.Silent
	}
	if silent <= s.Want.Lease {
		return false
	}
	for _, o := range s.Members {
		if o.Name == t.From || !speaks(s, o) {
			continue
		}
		touch, ok := o.Agent.Peers[t.From]
		recent := ok && touch.Called >= 0 && touch.Called <= s.Want.Lease
		if recent && (o.Agent.Epoch < t.Epoch || o.Agent.EpochAge <= s.Want.Lease) {
			return false
		}
	}
	return true
}

// nothingIsMissing: each member that could alone hold a confirmed write stands still, or the former
// primary does with all its data, or there is nothing left that could come back.
func nothingIsMissing(s topology.State, epoch int64) bool {
	everybody := len(s.Members) >= s.Want.Replicas
	for _, m := range s.Members {
		everybody = everybody && (m.Ordinal >= s.Want.Replicas || standsStill(s, m, epoch))
	}
	if s.Intent.Primary == "" {
		return everybody
	}
	outside := slices.ContainsFunc(s.Members, func(m topology.Member) bool { return m.Pod.Exists && !standsStill(s, m, epoch) })
	if s.Want.Ephemeral && everybody && !outside {
		return true
	}
	if p := memberOf(s, s.Intent.Primary); p != nil && standsStill(s, *p, epoch) && !setBack(*p) {
		return true
	}
	for _, name := range s.Intent.SyncSet {
		if m := memberOf(s, name); m == nil || !standsStill(s, *m, epoch) {
			return false
		}
	}
	return len(s.Intent.SyncSet) > 0 || memberOf(s, s.Intent.Primary) != nil
}

// setBack: the member says less than was noted about it.
func setBack(m topology.Member) bool {
	f := m.Agent.Facts
	if f.Stored == nil {
		return f.Keys == 0 && f.Offset == 0
	}
	return (f.Keys == 0 && f.Offset == 0 && f.Stored.Keys > 0) ||
		(f.Offset > 0 && f.ReplID == f.Stored.ReplID && f.Offset < f.Stored.Offset)
}

// sparesData (I5): no member with data is made to follow a primary without any, unless it is on record that
// the primary never lost some.
func sparesData(t failer, s topology.State, d topology.Decision) {
	t.Helper()
	for _, step := range d.Steps {
		if step.Assign == nil || step.Assign.Primary == "" {
			continue
		}
		p := memberOf(s, step.Assign.Primary)
		if p == nil || p.Agent == nil || p.Agent.Facts.Keys > 0 || p.Agent.Facts.Offset > 0 {
			continue
		}
		if note := p.Agent.Facts.Stored; note != nil && note.ReplID != "" && note.Keys == 0 {
			continue
		}
		for name, role := range step.Assign.Roles {
			if m := memberOf(s, name); role == topology.Replica && m.Agent.Facts.Keys > 0 {
				t.Errorf("%s with %d keys is to follow %s, which is empty", name, m.Agent.Facts.Keys, p.Name)
			}
		}
	}
}
