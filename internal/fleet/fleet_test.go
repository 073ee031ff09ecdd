package fleet_test

import (
	"testing"
	"time"
)

func TestAStreamOpensOnceAndHeartbeatsWakeNobody(t *testing.T) {
	inWorld(t, func(w *world) {
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
