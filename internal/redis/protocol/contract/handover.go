package contract

import (
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

func handOverCases() map[string]func(l lab) {
	return map[string]func(l lab){
		"a primary hands over to its replica and follows it":      handOverDone,
		"replicas confirm at once, also while writes are refused": confirmWhileFenced,
		"a swap with a replica that has confirmed copies nothing": swapAfterConfirm,
		"a hand-over to a stranger is refused":                    handOverToStranger,
		"a hand-over by a replica is refused":                     handOverByReplica,
		"there is no hand-over to abort on a primary without it":  abortNothing,
	}
}

func handOverDone(l lab) {
	old, next := l.pair()
	l.write(old, "a")
	before := l.state(next)
	l.must(old.BeginHandOver(l.Context(), next.Address, 5*time.Second))
	s := l.await(old, "the end", func(s protocol.State) bool { return s.HandOver == protocol.HandOverNone })
	if s.Role != protocol.RoleReplica || s.Primary != next.Address {
		l.Errorf("the old primary is %+v", s)
	}
	l.await(old, "the link", linkUp)
	n := l.await(next, "the role", func(s protocol.State) bool { return s.Role == protocol.RolePrimary })
	if n.Keys() != 1 || n.ReplID2 != before.ReplID {
		l.Errorf("the new primary is %+v", n)
	}
	l.write(next, "b")
	l.await(old, "the write", func(s protocol.State) bool { return s.Keys() == 2 })
	if c := l.state(next).Counters; c.SyncFull != 0 {
		l.Errorf("the old primary needed a full synchronisation: %+v", c)
	}
}

func confirmWhileFenced(l lab) {
	primary, replica := l.pair()
	l.write(primary, "a")
	l.must(primary.ChangeSettings(l.Context(), map[string]string{"min-replicas-to-write": "1000"}))
	n, err := primary.Confirmed(l.Context(), 1, 2*time.Second)
	l.must(err)
	if n != 1 {
		l.Errorf("%d replicas confirmed, want 1", n)
	}
	if keys := l.state(replica).Keys(); keys != 1 {
		l.Errorf("the replica has %d keys, want 1", keys)
	}
	if _, err := replica.Confirmed(l.Context(), 1, time.Second); err == nil {
		l.Errorf("a replica let its replicas confirm something")
	}
}

func swapAfterConfirm(l lab) {
	old, next := l.pair()
	for _, key := range []string{"a", "b", "c"} {
		l.write(old, key)
	}
	l.must(old.ChangeSettings(l.Context(), map[string]string{"min-replicas-to-write": "1000"}))
	if n, err := old.Confirmed(l.Context(), 1, 2*time.Second); err != nil || n != 1 {
		l.Fatalf("%d replicas confirmed: %v", n, err)
	}
	l.must(old.Swap(l.Context(), next.Address))
	l.await(old, "the link", func(s protocol.State) bool {
		return s.HandOver == protocol.HandOverNone && s.Role == protocol.RoleReplica && s.Primary == next.Address && s.Link.Up
	})
	n := l.await(next, "the role", func(s protocol.State) bool { return s.Role == protocol.RolePrimary })
	if n.Keys() != 3 || n.Counters.SyncFull != 0 {
		l.Errorf("the new primary is %+v", n)
	}
}

func isRefused(err error) bool {
	var no *protocol.RefusedError
	return errors.As(err, &no)
}

func handOverToStranger(l lab) {
	primary, _ := l.pair()
	if err := primary.BeginHandOver(l.Context(), protocol.Address{Host: "127.0.0.1", Port: 2}, time.Second); !isRefused(err) {
		l.Errorf("answered %v", err)
	}
	if s := l.state(primary); s.Role != protocol.RolePrimary || s.HandOver != protocol.HandOverNone {
		l.Errorf("state %+v", s)
	}
	l.write(primary, "a")
}

func handOverByReplica(l lab) {
	primary, replica := l.pair()
	if err := replica.BeginHandOver(l.Context(), primary.Address, time.Second); !isRefused(err) {
		l.Errorf("answered %v", err)
	}
}

func abortNothing(l lab) {
	primary, _ := l.pair()
	if err := primary.AbortHandOver(l.Context()); !isRefused(err) {
		l.Errorf("answered %v", err)
	}
	l.write(primary, "a")
}
