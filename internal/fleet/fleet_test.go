package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/testkit/fakeagent"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

func TestAStreamOpensOnceAndHeartbeatsWakeNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		w.wantWakes(1, "stream opened")
		c := w.contact()
		if !c.Connected || c.Record == nil || c.StreamErr != "" {
			t.Fatalf("not connected: %+v", c)
		}

		w.pass(time.Minute)
		w.wantWakes(0, "a minute of heartbeats")
		c = w.contact()
		if age := time.Since(c.HeardAt); age > time.Second {
			t.Errorf("heard %s ago, want at most a heartbeat", age)
		}
		if got := len(a.Echoes()); got < 119 {
			t.Errorf("%d echoes in a minute, want one a heartbeat", got)
		}
		if a.Streams() != 1 {
			t.Errorf("%d streams, want 1", a.Streams())
		}
	})
}

func TestAnEchoNamesTheNewestRecordThatContactsShow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		w.pass(10 * time.Second)
		echoes := a.Echoes()
		if last := echoes[len(echoes)-1]; last != w.contact().Record.SentMono {
			t.Errorf("the last echo is %d, the record's time %d", last, w.contact().Record.SentMono)
		}
	})
}

func TestWhatWakes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		happen func(w *world, a *fakeagent.Agent)
		wakes  int
	}{
		"a material change": {wakes: 1, happen: func(_ *world, a *fakeagent.Agent) {
			a.Change(func(r *wire.Record) { r.Server.Phase = wire.ServerDown })
		}},
		"each of two material changes": {wakes: 2, happen: func(w *world, a *fakeagent.Agent) {
			a.Change(func(r *wire.Record) { r.Epoch = 3 })
			w.pass(time.Millisecond)
			a.Change(func(r *wire.Record) { r.Epoch = 4 })
		}},
		"no heartbeat": {wakes: 0, happen: func(_ *world, a *fakeagent.Agent) { a.Beat() }},
		"an agent that is asked to stop, even if it does not count that as material": {wakes: 1, happen: func(_ *world, a *fakeagent.Agent) {
			r := a.Record()
			r.Stopping = true
			a.Replace(r)
		}},
		"a last record, and the end of its stream": {wakes: 2, happen: func(_ *world, a *fakeagent.Agent) {
			r := a.Record()
			r.Final = true
			a.Replace(r)
		}},
		"another process of the agent, even if its count is the same": {wakes: 1, happen: func(_ *world, a *fakeagent.Agent) {
			r := a.Record()
			r.AgentInstance = "second"
			a.Replace(r)
		}},
		"a stream that breaks": {wakes: 1, happen: func(w *world, a *fakeagent.Agent) { w.close(a) }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := member("shop-0")
				a := w.agent(m)
				w.sync(m)
				w.wantWakes(1, "stream opened")
				c.happen(w, a)
				w.wantWakes(c.wakes, name)
			})
		})
	}
}

func TestALastRecordStaysKnownAfterItsStream(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		r := a.Record()
		r.Final = true
		a.Replace(r)
		w.pass(time.Millisecond)
		w.close(a)
		w.pass(time.Second)
		c := w.contact()
		if c.Connected || c.Record == nil || !c.Record.Final {
			t.Errorf("the last record is lost: %+v", c)
		}
	})
}

func TestABrokenStreamIsDialledAgainWithGrowingPatience(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		w.pass(time.Minute)
		w.close(a)
		broken := time.Now()
		w.pass(10 * time.Second)

		c := w.contact()
		if c.Connected || !strings.Contains(c.StreamErr, "refused") {
			t.Errorf("connected %t, error %q", c.Connected, c.StreamErr)
		}
		dials := w.network.dialsTo(m.Address)[1:]
		want := []time.Duration{100, 300, 700, 1500, 3100, 5100, 7100, 9100}
		for i, after := range want {
			if i >= len(dials) || dials[i].Sub(broken) != after*time.Millisecond {
				t.Fatalf("dials after %v, want %v ms", sinceAll(broken, dials), want)
			}
		}

		w.newWakes()
		w.agent(m)
		w.pass(2 * time.Second)
		w.wantWakes(1, "stream opened again")
		if c := w.contact(); !c.Connected || c.StreamErr != "" {
			t.Errorf("not connected again: %+v", c)
		}
	})
}

func sinceAll(from time.Time, times []time.Time) []time.Duration {
	var all []time.Duration
	for _, t := range times {
		all = append(all, t.Sub(from))
	}
	return all
}

func TestAReconcilerThatRunsMakesALostMemberBeDialledAtOnceButNotWithoutPause(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		w.sync(m)
		w.pass(time.Minute)
		w.pass(minPause)
		before := len(w.network.dialsTo(m.Address))
		called := time.Now()
		w.sync(m)
		dials := w.network.dialsTo(m.Address)
		if len(dials) != before+1 || !dials[before].Equal(called) {
			t.Errorf("dials after the call: %v", sinceAll(called, dials[before:]))
		}
		for range 100 {
			w.sync(m)
		}
		if more := len(w.network.dialsTo(m.Address)) - before - 1; more > 0 {
			t.Errorf("a hundred calls at one moment led to %d more dials", more)
		}
	})
}

const minPause = 100 * time.Millisecond

func TestANewAddressMeansANewConnection(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		first := w.agent(m)
		w.sync(m)
		heard := w.contact().HeardAt
		m.Address = "elsewhere:8443"
		second := w.agent(m)
		w.sync(m)
		c := w.contact()
		if !c.Connected || c.Address != m.Address || second.Streams() != 1 {
			t.Errorf("not connected to the new address: %+v", c)
		}
		if c.HeardAt.Before(heard) {
			t.Error("what was known is lost")
		}
		echoes := len(first.Echoes())
		w.pass(5 * time.Second)
		if got := len(first.Echoes()); got != echoes {
			t.Error("the old address is still served")
		}
	})
}

func TestAPodWithoutAnAddressIsNotDialledAndKeepsAStreamThatLives(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		bare := m
		bare.Address = ""
		w.agent(m)
		w.sync(bare)
		w.pass(time.Second)
		if c := w.contact(); c.Connected {
			t.Errorf("connected to nowhere: %+v", c)
		}
		w.sync(m)
		w.sync(bare)
		w.pass(time.Second)
		if c := w.contact(); !c.Connected {
			t.Errorf("the stream was given up: %+v", c)
		}
	})
}

func TestAStrangerAtTheAddressIsNotTakenForTheMember(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*fakeagent.Options){
		"another pod of the cluster": func(o *fakeagent.Options) { o.Record.PodUID = "uid-of-another" },
		"a pod of another cluster":   func(o *fakeagent.Options) { o.Record.Cluster = "another" },
	}
	for name, alter := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := member("shop-0")
				a := w.agent(m, alter)
				w.sync(m)
				w.pass(500 * time.Millisecond)
				w.wantWakes(0, "a stranger")
				c := w.contact()
				if c.Connected || c.Record != nil || !c.HeardAt.IsZero() || !strings.Contains(c.StreamErr, "speaks for") {
					t.Errorf("the stranger was believed: %+v", c)
				}
				if len(a.Echoes()) > 0 {
					t.Error("the stranger got an echo, which feeds its lease")
				}
			})
		})
	}
}

func TestAnAgentThatSaysNothingOrTooMuchIsGivenUp(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		alter func(*fakeagent.Options)
		want  string
	}{
		"nothing": {want: "no record", alter: func(o *fakeagent.Options) { o.Mute = true }},
		"too much": {want: "too long", alter: func(o *fakeagent.Options) {
			o.Record.AssignmentError = strings.Repeat("x", 300<<10)
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := member("shop-0")
				a := w.agent(m, c.alter)
				w.sync(m)
				w.pass(10 * time.Second)
				if got := w.contact(); got.Connected || !strings.Contains(got.StreamErr, c.want) {
					t.Errorf("connected %t, error %q, want %q", got.Connected, got.StreamErr, c.want)
				}
				if a.Streams() < 2 {
					t.Error("it was not tried again")
				}
			})
		})
	}
}

func TestNoCredentialsOrTheWrongOnesMeanNoConnection(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		source func(t *testing.T) fleet.TLSSource
		want   string
		dials  bool
	}{
		"none": {want: "no credentials", source: func(*testing.T) fleet.TLSSource { return nil }},
		"those of a foreign cluster": {want: "certificate signed by unknown authority", dials: true, source: func(t *testing.T) fleet.TLSSource {
			foreign, _ := credentials(t)
			return foreign
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := member("shop-0")
				w.agent(m)
				w.target.TLS = c.source(t)
				w.sync(m)
				w.pass(500 * time.Millisecond)
				if got := w.contact(); got.Connected || !strings.Contains(got.StreamErr, c.want) {
					t.Errorf("connected %t, error %q, want %q", got.Connected, got.StreamErr, c.want)
				}
				if dialled := len(w.network.dialsTo(m.Address)) > 0; dialled != c.dials {
					t.Errorf("dialled: %t, want %t", dialled, c.dials)
				}
				w.target.TLS = w.tls
				w.sync(m)
				w.pass(500 * time.Millisecond)
				if got := w.contact(); !got.Connected {
					t.Errorf("not connected with the right ones: %s", got.StreamErr)
				}
			})
		})
	}
}
