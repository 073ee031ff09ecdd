package fleet_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/fakeagent"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

func TestAnAgentOfAnEarlierEpochGetsNoEcho(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m, func(o *fakeagent.Options) { o.Record.Epoch = 3 })
		w.sync(m)
		w.pass(5 * time.Second)
		before := len(a.Echoes())
		if before == 0 {
			t.Fatal("no echo before an epoch was required")
		}

		w.fleet.RequireEpoch(shop, 4)
		w.fleet.RequireEpoch(shop, 2)
		w.pass(5 * time.Second)
		if got := len(a.Echoes()); got != before {
			t.Errorf("%d echoes to an agent of epoch 3 while 4 is required", got-before)
		}
		if c := w.contact(); !c.Connected || c.SilentFor(time.Now()) > time.Second {
			t.Error("the agent is no longer heard")
		}

		a.Change(func(r *wire.Record) { r.Epoch = 4 })
		w.pass(time.Second)
		if got := len(a.Echoes()); got == before {
			t.Error("no echo after the agent has seen the epoch")
		}
	})
}

func TestANewLeaderKnowsTheRequiredEpochBeforeItsFirstEcho(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m, func(o *fakeagent.Options) { o.Record.Epoch = 3 })
		w.target.RequiredEpoch = 4
		w.sync(m)
		w.pass(5 * time.Second)
		if c := w.contact(); !c.Connected {
			t.Fatalf("not connected: %s", c.StreamErr)
		}
		if got := len(a.Echoes()); got > 0 {
			t.Errorf("%d echoes", got)
		}
	})
}
