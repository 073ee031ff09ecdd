package topology_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/rollout"
	"github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

// Any State at all, also one that no cluster could be in, gives a lawful decision.
func TestRandomStates(t *testing.T) {
	t.Parallel()
	for n := range 6 {
		t.Run(fmt.Sprintf("%d members", n), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) { decideLawfully(rt, randomState(rt, n)) })
		})
	}
}

// States close to a settled cluster: one in which every rule has something to say.
func TestRandomDisturbances(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("%d members", n), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				s := redisstate.Settled(n)
				other := randomState(rt, n)
				for range rapid.IntRange(0, 3).Draw(rt, "disturbed") {
					i := rapid.IntRange(0, n-1).Draw(rt, "member")
					s.Members[i] = other.Members[i]
				}
				if rapid.Bool().Draw(rt, "other intent") {
					s.Intent = other.Intent
				}
				s.RoutedUID = rapid.SampledFrom([]string{"", redisstate.UID(0)}).Draw(rt, "routed")
				s.Ghosts = other.Ghosts
				decideLawfully(rt, s)
			})
		})
	}
}

func decideLawfully(t *rapid.T, s topology.State) {
	before := redisstate.Clone(s)
	d := topology.Decide(s)
	t.Logf("decided %s %q %v\n%s", d.State, d.Why, redisstate.Words(d), redisstate.Picture(before))
	if a, b := fmt.Sprintf("%+v", s), fmt.Sprintf("%+v", before); len(a) != len(b) {
		t.Errorf("Decide changed its input")
	}
	again := topology.Decide(redisstate.Clone(before))
	if a, b := redisstate.Words(d), redisstate.Words(again); !slices.Equal(a, b) || d.Why != again.Why || d.WakeAfter != again.WakeAfter {
		t.Errorf("not the same twice: %v and %v", a, b)
	}
	mustBeLawful(t, before, d)
	nothingOutOfNothing(t, before, d)
	settledIsQuiet(t, d)
	if d.State == topology.PrimarySuspect && d.WakeAfter == 0 {
		t.Errorf("%q waits for time and wakes nobody", d.Why)
	}
	if strings.HasPrefix(d.Why, "Waiting until the lease") && d.WakeAfter == 0 {
		t.Errorf("%q waits for time and wakes nobody", d.Why)
	}
}

// nothingOutOfNothing (I3): while no agent speaks, nobody is promoted, killed or routed to, and only a pod
// that Kubernetes calls broken, and that is outdated, is made again.
func nothingOutOfNothing(t *rapid.T, s topology.State, d topology.Decision) {
	anybody := slices.ContainsFunc(s.Members, func(m topology.Member) bool { return speaks(s, m) })
	for _, step := range d.Steps {
		if step.Route != nil && step.Route.Pod != "" {
			m := memberOf(s, step.Route.Pod)
			if m == nil || !speaks(s, *m) || !m.Agent.Facts.IsPrimary {
				t.Errorf("%s, which does not say that it is primary", redisstate.Step(step))
			}
		}
		if anybody {
			continue
		}
		ghost := step.Kill != nil && slices.ContainsFunc(s.Ghosts, func(g topology.Ghost) bool { return g.Connected && g.UID == step.Kill.UID })
		if (step.Kill != nil && !ghost) || step.Assign != nil || step.HandOver != nil || (step.Route != nil && step.Route.Pod != "") {
			t.Errorf("nobody speaks, and yet: %s", redisstate.Step(step))
		}
		if step.DeletePod != nil && memberOf(s, step.DeletePod.Pod).Pod.Broken == "" {
			t.Errorf("nobody speaks, and yet: %s", redisstate.Step(step))
		}
	}
}

// settledIsQuiet (I9): a settled cluster repeats its roles. What it stores is at most who is in step, and
// where it routes to at most its primary; a decision that the next pass repeats would be no rest.
func settledIsQuiet(t *rapid.T, d topology.Decision) {
	if d.State != topology.Settled {
		return
	}
	for _, step := range d.Steps {
		if step.DeletePod != nil || step.HandOver != nil || step.Announce != nil {
			t.Errorf("settled, and yet: %s", redisstate.Step(step))
		}
	}
}

// A settled cluster, whatever its size, gives nothing but its roles: no API write (I9).
func TestASettledClusterIsLeftAlone(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 9; n++ {
		d := topology.Decide(redisstate.Settled(n))
		if d.State != topology.Settled || len(d.Steps) != 1 || d.Steps[0].Assign == nil || d.SetReplicas != n || d.WakeAfter != 0 {
			t.Errorf("%d members: %s %v, StatefulSet of %d, wake after %s", n, d.State, redisstate.Words(d), d.SetReplicas, d.WakeAfter)
		}
	}
}

func randomState(t *rapid.T, n int) topology.State {
	seconds := func(label string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{-1000, 0, 500, 1900, 2299, 2300, 2999, 3000, 9000}).Draw(t, label)) * time.Millisecond
	}
	s := topology.State{
		Want: topology.Want{
			Cluster: redisstate.Cluster, Detection: redisstate.Detection, Lease: redisstate.Lease,
			Replicas:   max(1, n+rapid.IntRange(-2, 2).Draw(t, "wanted")),
			Supervised: rarely(t, "supervised"), Approved: rarely(t, "approved"), Ephemeral: rarely(t, "ephemeral"),
			Paused: rarely(t, "paused"), Deleting: rarely(t, "deleting"), AcceptLoss: rarely(t, "accepts loss"),
		},
		SetReplicas: n, WatchedFor: max(0, seconds("watched")),
		HandOverFailures: rapid.IntRange(0, 3).Draw(t, "failures"),
		HandOverPause:    max(0, seconds("pause")),
		RoutedUID:        rapid.SampledFrom([]string{"", redisstate.UID(0), redisstate.UID(1), "uid-other"}).Draw(t, "routed"),
	}
	for i := range n {
		s.Members = append(s.Members, randomMember(t, i, n))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "ghosts") {
		s.Ghosts = append(s.Ghosts, topology.Ghost{
			Name: redisstate.Name(i), UID: redisstate.UID(i) + rapid.SampledFrom([]string{"", "-old"}).Draw(t, "ghost"),
			Connected: rapid.Bool().Draw(t, "connected"), Silent: max(0, seconds("silent")), Dead: rapid.Bool().Draw(t, "dead"),
		})
	}
	s.Intent = randomIntent(t, n)
	return s
}

func rarely(t *rapid.T, label string) bool { return rapid.IntRange(0, 7).Draw(t, label) == 0 }

func randomIntent(t *rapid.T, n int) topology.Intent {
	if n == 0 || rarely(t, "nothing stored") {
		return topology.Intent{}
	}
	who := func(label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	p := who("primary")
	i := topology.Intent{
		Epoch: rapid.Int64Range(4, 6).Draw(t, "epoch"), Primary: redisstate.Name(p), PrimaryUID: redisstate.UID(p),
		ReplID: rapid.SampledFrom(lineages()).Draw(t, "stored lineage"),
	}
	for j := range n {
		if j != p && rapid.Bool().Draw(t, "in sync set") {
			i.SyncSet = append(i.SyncSet, redisstate.Name(j))
		}
	}
	if rapid.Bool().Draw(t, "in transition") {
		from, to := who("from"), who("to")
		tr := topology.Transition{
			Kind:  rapid.SampledFrom([]topology.Kind{topology.Bootstrap, topology.Failover, topology.Failover, topology.HandOver}).Draw(t, "kind"),
			Epoch: rapid.Int64Range(4, 7).Draw(t, "transition's epoch"), Reason: "random",
			From: redisstate.Name(from), FromUID: redisstate.UID(from),
		}
		switch tr.Kind {
		case topology.Bootstrap:
			tr.From, tr.FromUID = "", ""
			i = topology.Intent{}
		case topology.HandOver:
			tr.From, tr.FromUID = i.Primary, i.PrimaryUID
		case topology.Failover:
		}
		if tr.Kind == topology.HandOver || rapid.Bool().Draw(t, "elected") {
			tr.To, tr.ToUID = redisstate.Name(to), redisstate.UID(to)
		}
		i.Transition = &tr
	}
	return i
}

func lineages() []string { return []string{"lineage-a", "lineage-a", "lineage-b", "", "0000"} }

func randomMember(t *rapid.T, i, n int) topology.Member {
	m := redisstate.Settled(n).Members[i]
	age := func(label string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{-1, 0, 200, 1000, 2299, 2300, 2999, 3000, 60000}).Draw(t, label)) * time.Millisecond
	}
	if rarely(t, "no pod") {
		redisstate.NoPod()(&m)
		return m
	}
	if rarely(t, "reborn") {
		redisstate.Reborn()(&m)
	}
	m.Pod.Terminating = rarely(t, "terminating")
	m.DetachedAt = rapid.SampledFrom([]int64{-1, 0, 990, 1000, 2000}).Draw(t, "detached at")
	if rarely(t, "outdated") {
		m.Pod.Outdated = []rollout.Reason{"image a → b"}
	}
	if rarely(t, "broken") {
		m.Pod.Broken = "image"
	}
	if rarely(t, "disconnected") {
		m.Link = topology.Link{Silent: max(0, age("silent"))}
	}
	if rarely(t, "unheard") {
		m.Agent = nil
		return m
	}
	a := m.Agent
	a.Phase = rapid.SampledFrom([]topology.Phase{topology.Running, topology.Running, topology.Running, topology.Running,
		topology.Waiting, topology.Starting, topology.Unresponsive, topology.Down}).Draw(t, "phase")
	a.Epoch, a.EpochAge = rapid.Int64Range(4, 7).Draw(t, "seen"), max(0, age("seen for"))
	a.UnresponsiveFor = max(0, age("unresponsive"))
	a.SpentEpoch = rapid.SampledFrom([]int64{0, 0, 0, 5, 6, 7}).Draw(t, "spent")
	a.Stopping, a.Final = rarely(t, "stopping"), rarely(t, "final")
	for name := range a.Peers {
		a.Peers[name] = topology.Touch{Answered: age("answered"), Called: age("called")}
	}
	a.Facts = randomFacts(t, n)
	return m
}

func randomFacts(t *rapid.T, n int) facts.Facts {
	offset := func(label string) int64 { return rapid.SampledFrom([]int64{0, 990, 1000, 1000, 1010}).Draw(t, label) }
	f := facts.Facts{
		IsPrimary: rarely(t, "is primary"), Offset: offset("offset"), Keys: rapid.Int64Range(0, 2).Draw(t, "keys"),
		ReplID: rapid.SampledFrom(lineages()).Draw(t, "lineage"), ReplID2: rapid.SampledFrom(lineages()).Draw(t, "second lineage"),
		SecondOffset: offset("second offset"), LastIOMillis: rapid.SampledFrom([]int64{-1, 100, 1999, 2000, 9000}).Draw(t, "last byte"),
		Loading: rarely(t, "loading"), SyncInProgress: rarely(t, "synchronises"),
		FailoverState: rapid.SampledFrom([]string{"", "no-failover", "no-failover", "failover-in-progress"}).Draw(t, "engine"),
	}
	if f.IsPrimary {
		for i := range n {
			if rapid.Bool().Draw(t, "attached") {
				f.Replicas = append(f.Replicas, facts.ReplicaLink{Host: redisstate.Address(i), Online: rapid.Bool().Draw(t, "online"), Offset: offset("confirmed")})
			}
		}
	} else if rapid.Bool().Draw(t, "follows") {
		f.Following, f.LinkUp = redisstate.Address(rapid.IntRange(0, n).Draw(t, "whom")), rapid.Bool().Draw(t, "link")
	}
	if rapid.IntRange(0, 3).Draw(t, "restarted") == 0 {
		f.Stored = &facts.Stored{
			Cluster: redisstate.Cluster, Epoch: rapid.Int64Range(4, 6).Draw(t, "noted epoch"), WasPrimary: rapid.Bool().Draw(t, "was primary"),
			ReplID: rapid.SampledFrom(lineages()).Draw(t, "noted lineage"), Offset: offset("noted offset"), Keys: rapid.Int64Range(0, 2).Draw(t, "noted keys"),
		}
	}
	return f
}
