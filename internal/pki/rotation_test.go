package pki_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/pki"
)

// version is a content of the agents' Secret that some pod may still see.
type version struct {
	agents   map[string][]byte
	replaced time.Time // zero: the present one
}

// cluster walks through a rotation, one write at a time. A crash loses the rest of a plan.
type cluster struct {
	t        *testing.T
	now      time.Time
	rotation string
	// stored is what the API server holds; before is what a manager with a stale cache sees.
	stored, before pki.Material
	versions       []version
	writes         int
	// crashAfter this many writes the manager is away for the absence; 0: never.
	crashAfter int
	absence    time.Duration
	crashed    bool
	foreign    pki.Material
	// met keeps how a pair got on: within the days of a rotation that depends on nothing but what
	// the two hold.
	met map[string]error
}

// meet lets a pair connect unless it has done so before.
func (c *cluster) meet(a, b map[string][]byte, connect func() error) error {
	pair := string(encode(a)) + string(encode(b))
	if _, known := c.met[pair]; !known {
		c.met[pair] = connect()
	}
	return c.met[pair]
}

// wrote counts a write and says whether the manager dies right after it.
func (c *cluster) wrote() bool {
	c.writes++
	c.check()
	if c.writes != c.crashAfter {
		return false
	}
	c.crashed = true
	c.now = c.now.Add(c.absence)
	c.check()
	return true
}

// visit plans and writes, the authority's Secret first; false: the manager died on the way.
func (c *cluster) visit() (wake time.Duration, alive bool) {
	in := input(c.stored)
	in.Rotation = c.rotation
	r := plan(c.t, c.now, in)
	if r.Changed && !bytes.Equal(encode(r.Material.Authority), encode(c.stored.Authority)) {
		c.before = clone(c.stored)
		c.stored.Authority = r.Material.Authority
		if c.wrote() {
			return 0, false
		}
	}
	if r.Changed && !bytes.Equal(encode(r.Material.Agents), encode(c.stored.Agents)) {
		c.before = clone(c.stored)
		c.versions[len(c.versions)-1].replaced = c.now
		c.versions = append(c.versions, version{agents: r.Material.Agents})
		c.stored.Agents = r.Material.Agents
		if c.wrote() {
			return 0, false
		}
	}
	return r.WakeAfter, true
}

// check lets everybody who may be there connect to everybody else.
func (c *cluster) check() {
	c.t.Helper()
	var views []map[string][]byte
	for _, v := range c.versions {
		if v.replaced.IsZero() || c.now.Sub(v.replaced) < propagation {
			views = append(views, v.agents)
		}
	}
	for i, agents := range views {
		for name, manager := range map[string]pki.Material{"present": c.stored, "stale": c.before} {
			err := c.meet(manager.Authority, agents, func() error { return managerReaches(c.now, manager, agents) })
			if err != nil {
				c.t.Errorf("after %d writes: %s manager, agent view %d of %d: %v", c.writes, name, i+1, len(views), err)
			}
		}
		if c.meet(c.foreign.Authority, agents, func() error { return managerReaches(c.now, c.foreign, agents) }) == nil {
			c.t.Errorf("after %d writes: the manager of a foreign cluster reached agent view %d", c.writes, i+1)
		}
		for j, other := range views {
			err := c.meet(agents, other, func() error { return peersReach(c.now, agents, other) })
			if err != nil {
				c.t.Errorf("after %d writes: agent view %d calls view %d: %v", c.writes, i+1, j+1, err)
			}
		}
	}
}

func encode(data map[string][]byte) []byte { return fmt.Append(nil, data) }

// run rotates the authority once and returns how many writes that took.
func (c *cluster) run() int {
	c.t.Helper()
	first := c.stored.Authority[pki.KeyCurrentCertificate]
	c.rotation = "2026-03"
	for range 20 {
		wake, alive := c.visit()
		if !alive {
			continue
		}
		rotated := !bytes.Equal(first, c.stored.Authority[pki.KeyCurrentCertificate])
		if rotated && c.stored.Authority[pki.KeyPreviousCertificate] == nil {
			return c.writes
		}
		c.now = c.now.Add(wake - time.Second)
		c.check()
		c.now = c.now.Add(time.Second)
	}
	c.t.Fatalf("the rotation did not end; keys %v", keys(c.stored.Authority))
	return 0
}

func keys(data map[string][]byte) []string {
	var all []string
	for key := range data {
		all = append(all, key)
	}
	return all
}

func newCluster(t *testing.T) *cluster {
	m := steady(t)
	return &cluster{
		t: t, now: start.Add(time.Hour), stored: m, before: m,
		versions: []version{{agents: m.Agents}}, foreign: steady(t), met: map[string]error{},
	}
}

func TestEveryPairConnectsThroughoutARotation(t *testing.T) {
	t.Parallel()
	if writes := newCluster(t).run(); writes < 5 {
		t.Errorf("the rotation took %d writes, want one of each Secret per stage", writes)
	}
}

func TestACrashAfterAnyWriteOfARotationBreaksNoPair(t *testing.T) {
	t.Parallel()
	writes := newCluster(t).run()
	absences := map[string]time.Duration{
		"back at once":          0,
		"back in an hour":       time.Hour,
		"back in the same wait": propagation / 2,
	}
	for name, absence := range absences {
		for n := 1; n < writes; n++ {
			t.Run(fmt.Sprintf("after write %d, %s", n, name), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				c.crashAfter, c.absence = n, absence
				c.run()
				if !c.crashed {
					t.Error("the crash did not happen")
				}
			})
		}
	}
}

func TestStagesFollowEachOther(t *testing.T) {
	t.Parallel()
	in := input(steady(t))
	in.Rotation = "please"
	now := start.Add(time.Hour)
	leafDue := start.Add(60 * 24 * time.Hour)
	stages := []struct {
		name                     string
		reason                   string
		wake                     time.Duration
		hasNext, hasPrev, newKey bool
	}{
		{name: "publishing", reason: "a new authority is made known to the agents", wake: propagation, hasNext: true},
		{name: "retiring", reason: "the new authority signs from now on; the agents get a certificate of the new authority", wake: propagation, hasPrev: true, newKey: true},
		{name: "steady", reason: "the old authority is no longer trusted", wake: 0, newKey: true},
	}
	first := in.Material.Authority[pki.KeyCurrentCertificate]
	for _, s := range stages {
		r := plan(t, now, in)
		if !r.Changed || r.Reason != s.reason {
			t.Errorf("%s: reason %q, want %q", s.name, r.Reason, s.reason)
		}
		a := r.Material.Authority
		if (a[pki.KeyNextKey] != nil) != s.hasNext || (a[pki.KeyPreviousKey] != nil) != s.hasPrev {
			t.Errorf("%s: the Secret has the keys %v", s.name, keys(a))
		}
		if bytes.Equal(first, a[pki.KeyCurrentCertificate]) == s.newKey {
			t.Errorf("%s: the wrong authority signs", s.name)
		}
		if s.wake > 0 && r.WakeAfter != s.wake || s.wake == 0 && r.WakeAfter < leafDue.Sub(start)-time.Hour {
			t.Errorf("%s: wakes after %s", s.name, r.WakeAfter)
		}
		in.Material = r.Material
		if again := plan(t, now, in); again.Changed || again.Reason != "" {
			t.Errorf("%s: the plan is not stable: %s", s.name, again.Reason)
		}
		if early := plan(t, now.Add(r.WakeAfter-time.Second), in); early.Changed {
			t.Errorf("%s: %q happened before its time", s.name, early.Reason)
		}
		now = now.Add(r.WakeAfter)
	}
}

func TestARequestForRotationIsTakenUpOnce(t *testing.T) {
	t.Parallel()
	in := input(pki.Material{})
	in.Rotation = "from the start"
	r := plan(t, start, in)
	in.Material = r.Material
	if again := plan(t, start.Add(time.Hour), in); again.Changed {
		t.Errorf("a request that is as old as the authority replaced it: %s", again.Reason)
	}
	in.Rotation = ""
	if again := plan(t, start.Add(time.Hour), in); again.Changed {
		t.Errorf("taking the request back did something: %s", again.Reason)
	}
}

// A node may be so late that one of its pods sees the new authority only after it has begun to sign.
func TestTheManagerReachesAnAgentThatMissedTheNewAuthority(t *testing.T) {
	t.Parallel()
	in := input(steady(t))
	in.Rotation = "please"
	late := in.Material.Agents
	now := start.Add(time.Hour)
	for range 2 {
		r := plan(t, now, in)
		in.Material = r.Material
		if err := managerReaches(now, in.Material, late); err != nil {
			t.Errorf("after %q: %v", r.Reason, err)
		}
		now = now.Add(r.WakeAfter)
	}
	if _, retiring := in.Material.Authority[pki.KeyPreviousCertificate]; !retiring {
		t.Error("the new authority never began to sign")
	}
}
