package fleet_test

import (
	"testing"
	"time"
)

// late is how late a silence may be noticed.
const late = 100 * time.Millisecond

func TestASilentMemberWakesOnceAfterTheDetection(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		w.agent(m)
		w.sync(m)
		w.pass(10 * time.Second)
		w.newWakes()
		w.network.freeze(m.Address)
		heard := w.contact().HeardAt

		w.pass(time.Until(heard.Add(detection - time.Millisecond)))
		w.wantWakes(0, "before the detection")
		w.pass(late)
		w.wantWakes(1, "at the detection")
		c := w.contact()
		if !c.Connected || c.SilentFor(time.Now()) < detection {
			t.Errorf("silent for %s, connected %t", c.SilentFor(time.Now()), c.Connected)
		}

		w.pass(3 * time.Second)
		w.wantWakes(1, "the connection's own check gives the stream up")
		if c := w.contact(); c.Connected || c.Record == nil || !c.HeardAt.Equal(heard) {
			t.Errorf("after the stream broke: %+v", c)
		}
		w.pass(time.Minute)
		w.wantWakes(0, "the same silence for another minute")
	})
}

func TestAMemberThatThawsIsHeardOnTheSameStream(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		w.newWakes()
		w.network.freeze(m.Address)
		w.pass(detection + late)
		w.wantWakes(1, "silence")
		w.network.thaw(m.Address)
		w.pass(time.Millisecond)
		w.wantWakes(1, "heard again")
		if c := w.contact(); !c.Connected || c.SilentFor(time.Now()) > late || a.Streams() != 1 {
			t.Errorf("after the thaw: silent for %s, %d streams", c.SilentFor(time.Now()), a.Streams())
		}
		w.network.freeze(m.Address)
		w.pass(detection + late)
		w.wantWakes(1, "a second silence")
	})
}

func TestAHealedNetworkIsFoundWithinTwoAttempts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		w.agent(m)
		w.sync(m)
		w.network.freeze(m.Address)
		w.pass(time.Minute)
		w.newWakes()
		w.network.thaw(m.Address)
		w.pass(4 * time.Second)
		if c := w.contact(); !c.Connected {
			t.Errorf("still not connected: %s", c.StreamErr)
		}
		w.wantWakes(1, "stream opened again")
	})
}

func TestAMemberThatWasNeverHeardCountsAsSilentFromTheStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		wanted := time.Now()
		w.sync(member("shop-0"))
		w.pass(detection - time.Millisecond)
		w.wantWakes(0, "before the detection")
		w.pass(late)
		w.wantWakes(1, "at the detection")
		c := w.contact()
		if !c.HeardAt.IsZero() || !c.SilentSince.Equal(wanted) {
			t.Errorf("heard %s, silent since %s, want %s", c.HeardAt, c.SilentSince, wanted)
		}
		w.pass(time.Minute)
		w.wantWakes(0, "attempts that fail")
	})
}

func TestAMemberThatHangsHoldsNobodyUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hung, well := member("shop-0"), member("shop-1")
		w.agent(hung)
		w.agent(well)
		w.sync(hung, well)
		w.network.freeze(hung.Address)
		w.pass(20 * time.Second)
		contacts := w.fleet.Contacts(shop)
		if contacts[0].Connected {
			t.Error("the member that hangs is connected")
		}
		if c := contacts[1]; !c.Connected || c.SilentFor(time.Now()) > time.Second {
			t.Errorf("the other is silent for %s", c.SilentFor(time.Now()))
		}
	})
}
