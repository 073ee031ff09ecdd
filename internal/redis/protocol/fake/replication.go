package fake

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

// handOver is one that is under way.
type handOver struct {
	to       protocol.Address
	deadline time.Time
}

// settle lets happen what happens between servers without an order: links come up, data flows,
// hand-overs end. The caller holds the lock.
func (n *Network) settle() {
	for _, s := range n.servers {
		s.settleHandOver()
	}
	for _, s := range n.servers {
		s.settleLink()
	}
}

func (s *Server) settleLink() {
	p := s.upstream()
	if p == nil {
		s.attached = false
		return
	}
	if !s.attached {
		s.attached = true
		if s.canResume(p) {
			p.syncPart++
		} else {
			p.syncFull++
		}
	}
	s.copyFrom(p)
}

// upstream is the server that this one gets data from; nil for none.
func (s *Server) upstream() *Server {
	if s.dead || s.frozen || s.role != protocol.RoleReplica {
		return nil
	}
	p := s.net.servers[s.primary]
	if p == nil || p.dead || p.frozen || p == s || !p.admits(s.settings["masteruser"], s.settings["masterauth"]) {
		return nil
	}
	return p
}

// canResume says whether the data is a beginning of the primary's.
func (s *Server) canResume(p *Server) bool {
	if s.replID == p.replID {
		return s.offset <= p.offset
	}
	return s.replID == p.replID2 && s.offset < p.secondPoint
}

func (s *Server) settleHandOver() {
	h := s.handOver
	if h == nil || s.dead || s.frozen {
		return
	}
	to := s.net.servers[h.to]
	if to == nil || !to.attached || to.upstream() != s {
		if time.Now().After(h.deadline) {
			s.handOver = nil
		}
		return
	}
	s.handOver = nil
	to.copyFrom(s)
	to.becomePrimary()
	s.role, s.primary, s.attached = protocol.RoleReplica, h.to, false
}

func (s *Server) becomePrimary() {
	s.role, s.primary, s.attached = protocol.RolePrimary, protocol.Address{}, false
	s.replID2, s.secondPoint = s.replID, s.offset+1
	s.replID = s.net.newLineage()
}

// State implements protocol.Observer.
func (s *Server) State(context.Context) (protocol.State, error) {
	if err := s.enter("State"); err != nil {
		return protocol.State{}, err
	}
	defer s.net.mu.Unlock()
	state := protocol.State{
		Version: "8.0.0", RunID: s.address.Host + "/" + strconv.Itoa(s.runs), Loading: s.loading, Role: s.role, HandOver: protocol.HandOverNone,
		ReplID: s.replID, ReplID2: s.replID2, Offset: s.offset, SecondOffset: -1,
		Link: protocol.Link{DownFor: protocol.Never, LastIO: protocol.Never},
	}
	if s.replID2 != "" {
		state.SecondOffset = s.secondPoint
	}
	if s.handOver != nil {
		state.HandOver = protocol.HandOverWaiting
	}
	if s.role == protocol.RoleReplica {
		state.Primary = s.primary
		state.Link.Up = s.attached
		if s.attached {
			state.Link.LastIO = 0
		}
	}
	state.Changes = s.offset
	if len(s.keys) > 0 {
		state.Databases = []protocol.Database{{Name: "db0", Keys: int64(len(s.keys))}}
	}
	state.Memory.Max, _ = strconv.ParseInt(s.settings["maxmemory"], 10, 64)
	state.Counters = protocol.Counters{SyncFull: s.syncFull, SyncPartial: s.syncPart}
	state.Clients.Connected = int64(len(s.sessions))
	for _, r := range s.replicas() {
		state.Replicas = append(state.Replicas, protocol.Replica{Address: r.address, Online: true, Offset: r.offset})
	}
	return state, nil
}

func (s *Server) replicas() []*Server {
	var all []*Server
	for _, r := range s.net.servers {
		if r.attached && r.primary == s.address && r.upstream() == s {
			all = append(all, r)
		}
	}
	return all
}

// Follow implements protocol.Replication.
func (s *Server) Follow(_ context.Context, primary protocol.Address) error {
	if err := s.enter("Follow"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	if s.handOver != nil {
		return refused("follow", "ERR REPLICAOF not allowed while failing over.")
	}
	if s.role == protocol.RoleReplica && s.primary == primary {
		return nil
	}
	s.role, s.primary, s.attached = protocol.RoleReplica, primary, false
	return nil
}

// Promote implements protocol.Replication.
func (s *Server) Promote(context.Context) error {
	if err := s.enter("Promote"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	if s.role == protocol.RoleReplica {
		s.becomePrimary()
	}
	return nil
}

// Confirmed implements protocol.Replication: in this network everything that is attached has everything.
func (s *Server) Confirmed(context.Context, int, time.Duration) (int, error) {
	if err := s.enter("Confirmed"); err != nil {
		return 0, err
	}
	defer s.net.mu.Unlock()
	if s.role == protocol.RoleReplica {
		return 0, refused("wait for the replicas", "ERR WAIT cannot be used with replica instances.")
	}
	return len(s.replicas()), nil
}

// BeginHandOver implements protocol.Replication.
func (s *Server) BeginHandOver(_ context.Context, to protocol.Address, timeout time.Duration) error {
	if err := s.enter("BeginHandOver"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	switch {
	case s.role == protocol.RoleReplica:
		return refused("hand over", "ERR FAILOVER is not valid when server is a replica.")
	case s.handOver != nil:
		return refused("hand over", "ERR FAILOVER already in progress.")
	case !s.knows(to):
		return refused("hand over", "ERR FAILOVER target HOST and PORT is not a replica.")
	}
	s.handOver = &handOver{to: to, deadline: time.Now().Add(timeout)}
	return nil
}

// Swap implements protocol.Replication.
func (s *Server) Swap(ctx context.Context, to protocol.Address) error {
	return s.BeginHandOver(ctx, to, time.Second)
}

// knows says whether a server was the last to be seen as a replica; a frozen one still counts.
func (s *Server) knows(a protocol.Address) bool {
	r := s.net.servers[a]
	return r != nil && !r.dead && r.role == protocol.RoleReplica && r.primary == s.address
}

// AbortHandOver implements protocol.Replication.
func (s *Server) AbortHandOver(context.Context) error {
	if err := s.enter("AbortHandOver"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	if s.handOver == nil {
		return refused("abort the hand-over", "ERR No failover in progress.")
	}
	s.handOver = nil
	return nil
}

// DisconnectClients implements protocol.Replication.
func (s *Server) DisconnectClients(context.Context) error {
	if err := s.enter("DisconnectClients"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	s.closeSessions()
	return nil
}

// Shutdown implements protocol.Lifecycle.
func (s *Server) Shutdown(_ context.Context, data protocol.DataAtShutdown) error {
	if err := s.enter("Shutdown"); err != nil {
		return err
	}
	defer s.net.mu.Unlock()
	s.saved = data == protocol.SaveAsConfigured && s.settings["save"] != ""
	s.end()
	return nil
}

// Close implements protocol.Lifecycle.
func (s *Server) Close() error { return nil }

// Keys is a copy of the data.
func (s *Server) Keys() map[string]string {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.settle()
	return maps.Clone(s.keys)
}

var _ protocol.Server = (*Server)(nil)
