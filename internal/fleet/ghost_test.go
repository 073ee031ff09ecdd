package fleet_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

func TestAPodThatVanishedStaysWithinReachWhileItsStreamLives(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		old := member("shop-0")
		a := w.agent(old)
		w.sync(old)

		replacement := old
		replacement.PodUID, replacement.Address = "uid-of-the-new-one", "new:8443"
		w.agent(replacement)
		w.sync(replacement)
		w.pass(10 * time.Minute)
		contacts := w.fleet.Contacts(shop)
		if len(contacts) != 2 || contacts[0].Gone || !contacts[1].Gone || !contacts[1].Connected {
			t.Fatalf("contacts %+v", contacts)
		}
		record, err := w.fleet.Kill(t.Context(), contacts[1].Member, wire.Kill{Cluster: clusterUID, Epoch: 7})
		if err != nil || record.Server.Phase != wire.ServerDown {
			t.Fatalf("kill the ghost: %v, phase %s", err, record.Server.Phase)
		}

		w.newWakes()
		w.close(a)
		w.wantWakes(1, "the ghost's stream broke")
		w.pass(fleet.GhostRetention - time.Second)
		contacts = w.fleet.Contacts(shop)
		if len(contacts) != 2 || contacts[1].Connected || contacts[1].Record.Server.KilledEpoch != 7 {
			t.Errorf("the ghost's last word is lost too early: %+v", contacts)
		}
		w.pass(2 * time.Second)
		if c := w.contact(); c.PodUID != replacement.PodUID {
			t.Errorf("the ghost is still there: %+v", c)
		}
		dials := len(w.network.dialsTo(old.Address))
		w.pass(time.Minute)
		if more := len(w.network.dialsTo(old.Address)) - dials; more > 0 {
			t.Errorf("a ghost that is over was dialled %d times", more)
		}
	})
}

func TestAGhostWhoseStreamFlickersIsFoundAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		w.agent(m)
		w.sync(m)
		w.sync()
		w.network.freeze(m.Address)
		w.pass(10 * time.Second)
		if c := w.contact(); c.Connected || !c.Gone {
			t.Fatalf("while cut off: %+v", c)
		}
		w.network.thaw(m.Address)
		w.pass(4 * time.Second)
		if c := w.contact(); !c.Connected || !c.Gone {
			t.Errorf("after the cut: %+v", c)
		}
	})
}

func TestAPodThatVanishedBeforeItWasHeardLeavesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sync(member("shop-0"))
		w.sync()
		if contacts := w.fleet.Contacts(shop); len(contacts) > 0 {
			t.Errorf("contacts %+v", contacts)
		}
	})
}

func TestAPodThatComesBackIntoTheListIsNoGhost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		w.sync()
		w.sync(m)
		if c := w.contact(); c.Gone || !c.Connected || a.Streams() != 1 {
			t.Errorf("contact %+v, %d streams", c, a.Streams())
		}
	})
}

func TestForgettingAClusterClosesItsStreams(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		w.newWakes()
		w.fleet.Forget(shop)
		w.pass(time.Minute)
		w.wantWakes(0, "a cluster that is forgotten")
		if contacts := w.fleet.Contacts(shop); len(contacts) > 0 {
			t.Errorf("contacts %+v", contacts)
		}
		if dials := w.network.dialsTo(m.Address); len(dials) != 1 {
			t.Errorf("%d dials, want only the first", len(dials))
		}
		echoes := len(a.Echoes())
		a.Beat()
		w.pass(time.Second)
		if len(a.Echoes()) != echoes {
			t.Error("the stream is still open")
		}
	})
}

func TestAClusterMadeAgainUnderItsNameHasNoGhostsOfTheOldOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		old := member("shop-0")
		w.agent(old)
		w.sync(old)
		again := old
		again.ClusterUID, again.PodUID, again.Address = "another cluster", "another pod", "another:8443"
		w.agent(again)
		w.sync(again)
		if c := w.contact(); c.ClusterUID != again.ClusterUID || !c.Connected {
			t.Errorf("contact %+v", c)
		}
	})
}
