package contract

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

func replicationCases() map[string]func(l lab) {
	return map[string]func(l lab){
		"a fresh server is an empty primary":                             freshServer,
		"a server that follows nowhere is read-only and keeps its data":  nowhere,
		"a replica gets the data and is listed by its primary":           replicaFollows,
		"a replica that was cut off resumes where it was":                replicaResumes,
		"after a promotion the other replica resumes from the new one":   resumesAfterPromotion,
		"a promotion of a primary changes nothing":                       promoteTwice,
		"a replica with the wrong password gets no link":                 wrongPassword,
		"a primary that wants more replicas than it has refuses writes":  noReplicas,
		"clients of a server that drops them are gone and can come back": disconnect,
		"a server that is shut down does not answer":                     shutdown,
	}
}

func freshServer(l lab) {
	s := l.state(l.server())
	if s.Role != protocol.RolePrimary || s.Keys() != 0 || len(s.Replicas) != 0 || s.HandOver != protocol.HandOverNone || s.Loading {
		l.Errorf("state %+v", s)
	}
	if s.Version == "" || s.RunID == "" || len(s.ReplID) != 40 || s.ReplID2 != "" {
		l.Errorf("names %+v", s)
	}
	if s.Link.Up || s.Link.LastIO != protocol.Never {
		l.Errorf("a primary has a link: %+v", s.Link)
	}
}

func nowhere(l lab) {
	i := l.server()
	l.write(i, "a")
	before := l.state(i)
	l.must(i.Follow(l.Context(), protocol.Nowhere()))
	s := l.state(i)
	if s.Role != protocol.RoleReplica || s.Primary != protocol.Nowhere() || s.Link.Up || s.Keys() != 1 {
		l.Errorf("state %+v", s)
	}
	if s.ReplID != before.ReplID || s.Offset != before.Offset {
		l.Errorf("lineage %s:%d became %s:%d", before.ReplID, before.Offset, s.ReplID, s.Offset)
	}
	if err := l.login(i, "", "").Write("b", "1"); err == nil || !strings.Contains(err.Error(), "READONLY") {
		l.Errorf("a write was answered with %v", err)
	}
}

func replicaFollows(l lab) {
	primary, replica := l.server(), l.server()
	l.write(primary, "a")
	l.attach(replica, primary)
	l.write(primary, "b")
	p := l.state(primary)
	r := l.await(replica, "the same offset", func(s protocol.State) bool { return s.Offset >= p.Offset })
	if r.ReplID != p.ReplID || r.Keys() != 2 || r.Primary != primary.Address || r.Role != protocol.RoleReplica || r.Link.LastIO == protocol.Never {
		l.Errorf("replica %+v", r)
	}
	if p.Counters.SyncFull != 1 || p.Role != protocol.RolePrimary {
		l.Errorf("primary %+v", p)
	}
}

func replicaResumes(l lab) {
	primary, replica := l.pair()
	l.must(replica.Follow(l.Context(), protocol.Nowhere()))
	l.await(primary, "the replica's leave", hasReplicas(0))
	l.write(primary, "a")
	l.attach(replica, primary)
	p := l.state(primary)
	if p.Counters.SyncFull != 1 || p.Counters.SyncPartial != 1 {
		l.Errorf("syncs %+v", p.Counters)
	}
	l.await(replica, "the write", func(s protocol.State) bool { return s.Keys() == 1 })
}

func resumesAfterPromotion(l lab) {
	old, next := l.pair()
	other := l.server()
	l.attach(other, old)
	l.write(old, "a")
	want := l.state(old)
	for _, i := range []Instance{next, other} {
		l.await(i, "the same offset", func(s protocol.State) bool { return s.Offset >= want.Offset })
		l.must(i.Follow(l.Context(), protocol.Nowhere()))
	}
	before := l.state(next)
	l.must(next.Promote(l.Context()))
	s := l.state(next)
	if s.Role != protocol.RolePrimary || s.ReplID2 != before.ReplID || s.ReplID == before.ReplID || s.SecondOffset != before.Offset+1 {
		l.Errorf("promoted from %+v to %+v", before, s)
	}
	l.attach(other, next)
	if c := l.state(next).Counters; c.SyncFull != before.Counters.SyncFull || c.SyncPartial != before.Counters.SyncPartial+1 {
		l.Errorf("syncs %+v", c)
	}
	l.write(next, "b")
	l.await(other, "the write", func(s protocol.State) bool { return s.Keys() == 2 })
}

func promoteTwice(l lab) {
	i := l.server()
	before := l.state(i)
	l.must(i.Promote(l.Context()))
	if s := l.state(i); s.ReplID != before.ReplID || s.ReplID2 != "" {
		l.Errorf("from %+v to %+v", before, s)
	}
}

func wrongPassword(l lab) {
	primary, replica := l.server(), l.server()
	l.must(primary.SetUser(l.Context(), "link", []string{"on", hash("right"), "+psync", "+replconf", "+ping"}))
	l.must(replica.ChangeSettings(l.Context(), map[string]string{"masteruser": "link", "masterauth": "wrong"}))
	l.must(replica.Follow(l.Context(), primary.Address))
	if s := l.state(replica); s.Link.Up {
		l.Errorf("link %+v", s.Link)
	}
	l.must(replica.ChangeSettings(l.Context(), map[string]string{"masterauth": "right"}))
	l.await(replica, "the link", linkUp)
}

func noReplicas(l lab) {
	primary, replica := l.pair()
	client := l.login(primary, "", "")
	l.must(primary.ChangeSettings(l.Context(), map[string]string{"min-replicas-to-write": "1", "min-replicas-max-lag": "3"}))
	l.must(client.Write("a", "1"))
	l.must(primary.ChangeSettings(l.Context(), map[string]string{"min-replicas-to-write": "1000"}))
	if err := client.Write("b", "1"); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
		l.Errorf("a write was answered with %v", err)
	}
	if v, err := client.Read("a"); err != nil || v != "1" {
		l.Errorf("a read was answered with %q, %v", v, err)
	}
	if s := l.state(replica); !s.Link.Up {
		l.Errorf("the fence broke the link: %+v", s.Link)
	}
}

func disconnect(l lab) {
	primary, replica := l.pair()
	client := l.login(primary, "", "")
	l.must(client.Write("a", "1"))
	l.must(primary.DisconnectClients(l.Context()))
	if err := client.Write("b", "1"); err == nil {
		l.Error("a client that was dropped could write")
	}
	l.write(primary, "c")
	if s := l.state(replica); !s.Link.Up {
		l.Errorf("a replica was dropped with the clients: %+v", s.Link)
	}
}

func shutdown(l lab) {
	for _, data := range []protocol.DataAtShutdown{protocol.KeepFiles, protocol.SaveAsConfigured} {
		i := l.server()
		l.must(i.Shutdown(l.Context(), data))
		if _, err := i.State(l.Context()); err == nil {
			l.Errorf("%s: a server that was shut down answered", data)
		}
	}
}
