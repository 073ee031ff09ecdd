package fake

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

// Network is servers that can reach each other.
type Network struct {
	mu      sync.Mutex
	servers map[protocol.Address]*Server
	// lineages counts the replication IDs that were given.
	lineages int
}

// NewNetwork returns a network without servers.
func NewNetwork() *Network { return &Network{servers: map[protocol.Address]*Server{}} }

// Server is one server. All servers of a network share its lock, since what one does changes others.
type Server struct {
	net     *Network
	address protocol.Address

	role                protocol.Role
	primary             protocol.Address
	replID, replID2     string
	offset, secondPoint int64
	attached            bool
	handOver            *handOver
	keys                map[string]string
	syncFull, syncPart  int64
	settings            map[string]string
	users               map[string]string
	sessions            []*Session

	dead, frozen, busy, loading bool
	saved                       bool
	runs                        int
	// failing makes a method fail once.
	failing map[string]error
}

// Start runs a fresh server at an address; it takes the place of one that is dead.
func (n *Network) Start(a protocol.Address) *Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &Server{
		net: n, address: a, role: protocol.RolePrimary, replID: n.newLineage(), keys: map[string]string{},
		settings: defaultSettings(), users: map[string]string{"default": "on nopass ~* &* +@all"}, runs: 1,
		failing: map[string]error{},
	}
	n.servers[a] = s
	return s
}

func (n *Network) newLineage() string {
	n.lineages++
	return fmt.Sprintf("%040x", n.lineages)
}

// Errors of servers that do not answer.
var (
	errDead   = errors.New("connection refused")
	errFrozen = errors.New("i/o timeout")
)

// enter is the beginning of every call; the caller holds the lock when it returns nil.
func (s *Server) enter(method string) error {
	s.net.mu.Lock()
	err := s.unavailable(method)
	if err != nil {
		s.net.mu.Unlock()
		return err
	}
	s.net.settle()
	return nil
}

func (s *Server) unavailable(method string) error {
	switch {
	case s.dead:
		return errDead
	case s.frozen:
		return errFrozen
	case s.busy:
		return protocol.ErrBusy
	}
	err := s.failing[method]
	delete(s.failing, method)
	return err
}

// refused is what a server says to an order that it does not obey.
func refused(order, words string) error { return &protocol.RefusedError{Order: order, Words: words} }

// Kill ends the server without a word.
func (s *Server) Kill() {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.end()
}

func (s *Server) end() {
	s.dead = true
	s.closeSessions()
}

// SetFrozen makes the server stop answering, or go on.
func (s *Server) SetFrozen(frozen bool) { s.set(&s.frozen, frozen) }

// SetBusy makes the server answer that a script runs.
func (s *Server) SetBusy(busy bool) { s.set(&s.busy, busy) }

// SetLoading makes the server read its data, or be done with it.
func (s *Server) SetLoading(loading bool) { s.set(&s.loading, loading) }

func (s *Server) set(field *bool, value bool) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	*field = value
}

// FailNext makes the next call of a method fail.
func (s *Server) FailNext(method string, err error) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.failing[method] = err
}

// Saved says whether the server wrote its data when it was shut down.
func (s *Server) Saved() bool {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	return s.saved
}

// Dead says whether the server has ended.
func (s *Server) Dead() bool {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	return s.dead
}

// copyFrom makes a server's data and lineage another's.
func (s *Server) copyFrom(p *Server) {
	s.keys = maps.Clone(p.keys)
	s.offset = p.offset
	s.replID, s.replID2, s.secondPoint = p.replID, "", 0
}
