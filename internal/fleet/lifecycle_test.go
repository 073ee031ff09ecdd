package fleet_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fleet"
)

func TestNothingIsDialledBeforeTheFleetLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m := member("shop-0")
		a := w.agent(m)
		w.sync(m)
		w.pass(time.Minute)
		if dials := w.network.dialsTo(m.Address); len(dials) > 0 {
			t.Fatalf("%d dials before Start", len(dials))
		}

		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.fleet.Start(ctx) }()
		w.wantWakes(1, "stream opened")

		stop()
		if err := <-done; err != nil {
			t.Errorf("Start returned %v", err)
		}
		w.wantWakes(0, "streams closed on the way out")
		echoes := len(a.Echoes())
		w.sync(m)
		w.pass(time.Minute)
		if dials := w.network.dialsTo(m.Address); len(dials) != 1 || len(a.Echoes()) != echoes {
			t.Errorf("%d dials, %d more echoes after the end", len(dials), len(a.Echoes())-echoes)
		}
		if _, err := w.fleet.Refresh(t.Context(), m); err == nil {
			t.Error("an order was given after the end")
		}
	})
}

func TestAFleetEndsAtOnceWhileItsMembersHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		hung, unreachable := member("shop-0"), member("shop-1")
		w.agent(hung)
		w.network.freeze(unreachable.Address)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.fleet.Start(ctx) }()
		w.sync(hung, unreachable)
		w.network.freeze(hung.Address)
		w.pass(time.Second)

		began := time.Now()
		stop()
		if err := <-done; err != nil {
			t.Errorf("Start returned %v", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the end took %s", took)
		}
	})
}

func TestOnlyTheLeaderRunsTheFleet(t *testing.T) {
	t.Parallel()
	if !fleet.New(fleet.Options{}).NeedLeaderElection() {
		t.Error("every manager would dial")
	}
}

func TestContactsAreInTheOrderOfPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sync(member("shop-2"), member("shop-0"), member("shop-1"))
		var pods []string
		for _, c := range w.fleet.Contacts(shop) {
			pods = append(pods, c.Pod)
		}
		if !slices.IsSorted(pods) || len(pods) != 3 {
			t.Errorf("contacts of %v", pods)
		}
		if contacts := w.fleet.Contacts(shopOf("another")); contacts != nil {
			t.Errorf("contacts of an unknown cluster: %v", contacts)
		}
	})
}
