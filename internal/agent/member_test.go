package agent

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

const cluster = "cluster-uid"

// seconds on the member's clock.
func at(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func peersNamed(names ...string) []wire.PeerAddress {
	var out []wire.PeerAddress
	for _, n := range names {
		out = append(out, wire.PeerAddress{Pod: n, Host: "10.0.0.1", Port: 8443})
	}
	return out
}

func assignment(role wire.Role, epoch int64) wire.Assignment {
	a := wire.Assignment{
		Cluster: cluster, Epoch: epoch, Role: role, Peers: peersNamed("one", "two"),
		LeasePeers: 1, Lease: 2 * time.Second, Isolation: 10 * time.Second,
	}
	if role == wire.RoleReplica {
		a.Primary = &wire.Endpoint{Pod: "one", Host: "10.0.0.1", Port: 6379}
	}
	return a
}

func newTestMember() *member {
	return newMember(Identity{Cluster: cluster, Pod: "me"}, Epochs{Cluster: cluster})
}

// give is an assignment that was applied at a time.
func (m *member) give(a wire.Assignment, now time.Duration) {
	digest, err := a.Digest()
	if err != nil {
		panic(err)
	}
	m.accept(a, digest, now)
	m.pending, m.roleInForce, m.digest = false, true, digest
	m.server = wire.Server{Phase: wire.ServerRunning, Instance: 1}
	m.promoting = a.Role == wire.RolePrimary
	m.answered(now, &Observation{Loaded: true, Role: a.Role, Serving: a.Role != wire.RoleHeld})
}

func codeOf(r *Refusal) string {
	if r == nil {
		return ""
	}
	return r.Answer.Code
}

func TestWhichAssignmentsAreAdmitted(t *testing.T) {
	t.Parallel()
	primary := func(epoch int64) func(*member) {
		return func(m *member) { m.give(assignment(wire.RolePrimary, epoch), 0) }
	}
	cases := map[string]struct {
		before func(*member)
		order  wire.Assignment
		want   string
	}{
		"the first one":                           {order: assignment(wire.RoleHeld, 1)},
		"one of another cluster":                  {order: wire.Assignment{Cluster: "other", Role: wire.RoleHeld}, want: wire.CodeWrongCluster},
		"a role that does not exist":              {order: assignment("King", 1), want: wire.CodeInvalid},
		"a replica of nobody":                     {order: wire.Assignment{Cluster: cluster, Epoch: 1, Role: wire.RoleReplica}, want: wire.CodeInvalid},
		"the same epoch again":                    {before: primary(5), order: assignment(wire.RolePrimary, 5)},
		"an earlier epoch":                        {before: primary(5), order: assignment(wire.RoleHeld, 4), want: wire.CodeStaleEpoch},
		"held in the epoch of the primary":        {before: primary(5), order: assignment(wire.RoleHeld, 5)},
		"a dead primary's epoch":                  {before: func(m *member) { primary(5)(m); m.stripped() }, order: assignment(wire.RolePrimary, 5), want: wire.CodeStaleEpoch},
		"a dead primary's epoch, as a replica":    {before: func(m *member) { primary(5)(m); m.stripped() }, order: assignment(wire.RoleReplica, 5)},
		"a later epoch after a death":             {before: func(m *member) { primary(5)(m); m.stripped() }, order: assignment(wire.RolePrimary, 6)},
		"the epoch in which it was demoted":       {before: func(m *member) { primary(5)(m); m.give(assignment(wire.RoleHeld, 5), 0) }, order: assignment(wire.RolePrimary, 5), want: wire.CodeStaleEpoch},
		"primary in the later epoch of its hold":  {before: func(m *member) { primary(5)(m); m.give(assignment(wire.RoleHeld, 6), 0) }, order: assignment(wire.RolePrimary, 6)},
		"primary again after a hand-over":         {before: func(m *member) { primary(5)(m); m.seeEpoch(6, 0); m.handedOverUnder(6) }, order: assignment(wire.RolePrimary, 6)},
		"the old epoch after a hand-over":         {before: func(m *member) { primary(5)(m); m.seeEpoch(6, 0); m.handedOverUnder(6) }, order: assignment(wire.RolePrimary, 5), want: wire.CodeStaleEpoch},
		"a primary's epoch from before the agent": {before: func(m *member) { *m = *newMember(m.id, Epochs{Cluster: cluster, Seen: 5, Primary: 5}) }, order: assignment(wire.RolePrimary, 5), want: wire.CodeStaleEpoch},
		"a replica's epoch from before the agent": {before: func(m *member) { *m = *newMember(m.id, Epochs{Cluster: cluster, Seen: 5, Primary: 3}) }, order: assignment(wire.RolePrimary, 5)},
		"an epoch before that of a kill":          {before: func(m *member) { m.seeEpoch(9, 0) }, order: assignment(wire.RoleHeld, 8), want: wire.CodeStaleEpoch},
		"the epoch of a kill":                     {before: func(m *member) { m.seeEpoch(9, 0) }, order: assignment(wire.RoleHeld, 9)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMember()
			if c.before != nil {
				c.before(m)
			}
			if got := codeOf(m.admit(c.order)); got != c.want {
				t.Errorf("answered %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhichHandOversAreAdmitted(t *testing.T) {
	t.Parallel()
	order := func(epoch int64) wire.HandOver {
		return wire.HandOver{Cluster: cluster, Epoch: epoch, To: wire.Endpoint{Host: "10.0.0.2", Port: 6379}}
	}
	cases := map[string]struct {
		role  wire.Role
		after func(*member)
		order wire.HandOver
		want  string
	}{
		"by a primary in a later epoch":      {role: wire.RolePrimary, order: order(6)},
		"in the primary's own epoch":         {role: wire.RolePrimary, order: order(5), want: wire.CodeStaleEpoch},
		"in an earlier epoch":                {role: wire.RolePrimary, order: order(4), want: wire.CodeStaleEpoch},
		"by a replica":                       {role: wire.RoleReplica, order: order(6), want: wire.CodeInvalid},
		"to nobody":                          {role: wire.RolePrimary, order: wire.HandOver{Cluster: cluster, Epoch: 6}, want: wire.CodeInvalid},
		"of another cluster":                 {role: wire.RolePrimary, order: wire.HandOver{Cluster: "x", Epoch: 6}, want: wire.CodeWrongCluster},
		"again, when the answer was lost":    {role: wire.RolePrimary, after: func(m *member) { m.seeEpoch(6, 0); m.handedOverUnder(6) }, order: order(6)},
		"after another hand-over":            {role: wire.RolePrimary, after: func(m *member) { m.seeEpoch(6, 0); m.handedOverUnder(6) }, order: order(7), want: wire.CodeInvalid},
		"by a primary whose server has died": {role: wire.RolePrimary, after: (*member).stripped, order: order(6), want: wire.CodeInvalid},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMember()
			m.give(assignment(c.role, 5), 0)
			if c.after != nil {
				c.after(m)
			}
			if got := codeOf(m.admitHandOver(c.order)); got != c.want {
				t.Errorf("answered %q, want %q", got, c.want)
			}
		})
	}
}

func TestSpentEpochs(t *testing.T) {
	t.Parallel()
	m := newTestMember()
	m.give(assignment(wire.RolePrimary, 5), 0)
	if m.spent != 0 {
		t.Errorf("a living primary has spent %d", m.spent)
	}
	m.stripped()
	if m.spent != 5 {
		t.Errorf("a dead primary has spent %d", m.spent)
	}
	m.give(assignment(wire.RolePrimary, 7), 0)
	if m.spent != 5 {
		t.Errorf("a new primary has spent %d", m.spent)
	}
}

func TestTheAgeOfAnEpochCountsFromItsFirstSight(t *testing.T) {
	t.Parallel()
	m := newTestMember()
	var j journal
	m.give(assignment(wire.RoleHeld, 3), at(1))
	m.give(assignment(wire.RoleReplica, 3), at(4))
	if got := j.write(m, at(6)).EpochMillis; got != 5000 {
		t.Errorf("%d ms", got)
	}
	m.seeEpoch(4, at(6))
	if got := j.write(m, at(7)).EpochMillis; got != 1000 {
		t.Errorf("%d ms", got)
	}
}

func TestSilenceOfTheServer(t *testing.T) {
	t.Parallel()
	m := newTestMember()
	m.server = wire.Server{Phase: wire.ServerStarting, Instance: 1}
	m.startedAt, m.answeredAt = at(1), at(1)
	if m.seeSilence(at(100)); m.server.Phase != wire.ServerStarting {
		t.Errorf("a server that takes long to start is %s", m.server.Phase)
	}
	m.answered(at(100), &Observation{})
	if m.server.Phase != wire.ServerStarting {
		t.Errorf("a server that loads is %s", m.server.Phase)
	}
	if m.seeSilence(at(102)); m.server.Phase != wire.ServerUnresponsive {
		t.Errorf("a server that stopped answering while it loads is %s", m.server.Phase)
	}
	m.answered(at(103), &Observation{Loaded: true})
	if m.server.Phase != wire.ServerRunning || m.server.UnresponsiveMillis != 0 {
		t.Errorf("a server that answers is %+v", m.server)
	}
	if m.seeSilence(at(103.9)); m.server.Phase != wire.ServerRunning {
		t.Errorf("after 0.9 s it is %s", m.server.Phase)
	}
	if m.seeSilence(at(104.5)); m.server.Phase != wire.ServerUnresponsive || m.server.UnresponsiveMillis != 1500 {
		t.Errorf("after 1.5 s it is %+v", m.server)
	}
}

func TestWhoIsReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		role   wire.Role
		change func(*member)
		want   bool
	}{
		"a primary":                        {wire.RolePrimary, nil, true},
		"a replica in step":                {wire.RoleReplica, nil, true},
		"a held server":                    {wire.RoleHeld, nil, false},
		"a replica that is not in step":    {wire.RoleReplica, func(m *member) { m.observed.Serving = false }, false},
		"a member that stops":              {wire.RolePrimary, func(m *member) { m.stopping = true }, false},
		"a primary behind a fence":         {wire.RolePrimary, func(m *member) { m.fence = fenceWanted }, false},
		"a server that does not answer":    {wire.RolePrimary, func(m *member) { m.seeSilence(at(5)) }, false},
		"a member that was told otherwise": {wire.RolePrimary, func(m *member) { a := assignment(wire.RoleHeld, 6); m.accept(a, "x", 0) }, false},
		"a primary with new wishes":        {wire.RolePrimary, func(m *member) { a := assignment(wire.RolePrimary, 6); m.accept(a, "x", 0) }, true},
		"a dead server":                    {wire.RolePrimary, (*member).stripped, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMember()
			m.give(assignment(c.role, 5), 0)
			if c.change != nil {
				c.change(m)
			}
			if m.ready() != c.want {
				t.Errorf("ready is %v", m.ready())
			}
		})
	}
}

func TestWhoUsurpsAPrimarysRole(t *testing.T) {
	t.Parallel()
	becomes := func(role wire.Role, serving bool) func(*member) {
		return func(m *member) { m.answered(at(1), &Observation{Loaded: true, Role: role, Serving: serving}) }
	}
	cases := map[string]struct {
		role  wire.Role
		steps []func(*member)
		want  bool
	}{
		"a held server that became primary":            {wire.RoleHeld, []func(*member){becomes(wire.RolePrimary, true)}, true},
		"a held server":                                {wire.RoleHeld, nil, false},
		"a replica in step, the target of a hand-over": {wire.RoleReplica, []func(*member){becomes(wire.RolePrimary, true)}, false},
		"a replica that never was in step": {wire.RoleReplica, []func(*member){
			func(m *member) { m.give(assignment(wire.RoleHeld, 6), 0) },
			func(m *member) {
				a := assignment(wire.RoleReplica, 6)
				m.accept(a, "x", 0)
				m.pending, m.roleInForce = false, true
			},
			becomes(wire.RoleReplica, false), becomes(wire.RolePrimary, true),
		}, true},
		"a primary":                           {wire.RolePrimary, nil, false},
		"a held server with a new order open": {wire.RoleHeld, []func(*member){becomes(wire.RolePrimary, true), func(m *member) { m.pending = true }}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMember()
			m.give(assignment(c.role, 5), 0)
			for _, step := range c.steps {
				step(m)
			}
			if m.isUsurper() != c.want {
				t.Errorf("isUsurper is %v", m.isUsurper())
			}
		})
	}
}

func TestWhatIsMaterial(t *testing.T) {
	t.Parallel()
	m := newTestMember()
	m.give(assignment(wire.RolePrimary, 5), 0)
	m.observed.Material = "link up"
	var j journal
	first := j.write(m, 0)
	m.observed = &Observation{Loaded: true, Role: wire.RolePrimary, Material: "link up", Facts: []byte(`{"offset":9}`)}
	m.server.UnresponsiveMillis = 700
	second := j.write(m, at(0.5))
	if second.Material != first.Material || second.Seq != first.Seq+1 {
		t.Errorf("an offset moved Material from %d to %d", first.Material, second.Material)
	}
	last := second.Material
	for name, change := range map[string]func(){
		"link":     func() { m.observed.Material = "link down" },
		"phase":    func() { m.server.Phase = wire.ServerUnresponsive },
		"epoch":    func() { m.seeEpoch(6, 0) },
		"spent":    func() { m.loseGrant() },
		"digest":   func() { m.digest = "" },
		"error":    func() { m.assignmentError = "no" },
		"stopping": func() { m.stopping = true },
		"fence":    func() { m.fence = fenceOn },
		"isolated": func() { m.isolated = true },
		"peer":     func() { m.contacts.peers["one"].answered = at(100) },
		"final":    func() { m.final = true },
	} {
		change()
		r := j.write(m, at(1))
		if name == "peer" {
			r = j.write(m, at(100.5))
		}
		if r.Material != last+1 {
			t.Errorf("%s moved Material from %d to %d", name, last, r.Material)
		}
		last = r.Material
	}
}
