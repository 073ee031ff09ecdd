package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

// Instance is a server under test, fresh and empty, whose default user needs no password.
type Instance struct {
	protocol.Server
	Address protocol.Address
	// Login connects a client.
	Login func(user, password string) (Client, error)
}

// Client is an application's connection. An error of Write or Read means that the server refused
// or that the connection is gone; it is never made anew.
type Client interface {
	Write(key, value string) error
	Read(key string) (string, error)
}

// lab is one case's servers.
type lab struct {
	*testing.T
	start func(t *testing.T) Instance
}

// Run runs all cases. start gives each call a server of its own; all servers of a test reach each other.
func Run(t *testing.T, newLab func(t *testing.T) (start func(t *testing.T) Instance)) {
	cases := map[string]func(l lab){}
	for _, group := range []map[string]func(l lab){replicationCases(), handOverCases(), settingsCases(), userCases()} {
		maps.Copy(cases, group)
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cases[name](lab{T: t, start: newLab(t)})
		})
	}
}

func (l lab) server() Instance { return l.start(l.T) }

// must ends the case on an error.
func (l lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l lab) state(i Instance) protocol.State {
	l.Helper()
	s, err := i.State(l.Context())
	l.must(err)
	return s
}

// await polls a server's state until it is as wanted.
func (l lab) await(i Instance, what string, is func(protocol.State) bool) protocol.State {
	l.Helper()
	late := time.After(15 * time.Second)
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		s := l.state(i)
		if is(s) {
			return s
		}
		select {
		case <-poll.C:
		case <-late:
			l.Fatalf("%s did not happen; state: %+v", what, s)
		}
	}
}

func linkUp(s protocol.State) bool { return s.Link.Up }

func hasReplicas(n int) func(protocol.State) bool {
	return func(s protocol.State) bool {
		online := 0
		for _, r := range s.Replicas {
			if r.Online {
				online++
			}
		}
		return online == n
	}
}

func (l lab) login(i Instance, user, password string) Client {
	l.Helper()
	c, err := i.Login(user, password)
	l.must(err)
	return c
}

func (l lab) write(i Instance, key string) {
	l.Helper()
	l.must(l.login(i, "", "").Write(key, "value"))
}

// pair is a primary and a replica in step.
func (l lab) pair() (primary, replica Instance) {
	l.Helper()
	primary, replica = l.server(), l.server()
	l.attach(replica, primary)
	return primary, replica
}

func (l lab) attach(replica, primary Instance) {
	l.Helper()
	l.must(replica.Follow(l.Context(), primary.Address))
	l.await(replica, "the link", linkUp)
	l.await(primary, "the replica in step", func(s protocol.State) bool {
		return slices.ContainsFunc(s.Replicas, func(r protocol.Replica) bool { return r.Online && r.Address == replica.Address })
	})
}

func hash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return "#" + hex.EncodeToString(sum[:])
}
