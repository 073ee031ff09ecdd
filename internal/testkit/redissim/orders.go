package redissim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// assign takes an assignment, and applies it at once to a server that is up.
func (a *agent) assign(order wire.Assignment) error {
	if err := a.admit(order); err != nil {
		return err
	}
	if a.stopping && a.server == nil {
		return refused(wire.CodeEngine, 0, "the agent stops")
	}
	now := a.w.now
	a.see(order.Epoch)
	a.assigned, a.pending = &order, true
	a.granted = order.Role == wire.RolePrimary
	a.handedOver, a.killedEpoch, a.isolated = 0, 0, false
	if a.granted {
		a.disk.primary = max(a.disk.primary, order.Epoch)
	}
	a.contacts.setPeers(order.Peers)
	a.contacts.manager, a.contacts.assigned = now, now
	a.fencedAt = order.Epoch
	if a.running() {
		a.apply()
	}
	return nil
}

func (a *agent) admit(order wire.Assignment) error {
	if err := a.admitOrder(order.Cluster, order.Epoch); err != nil {
		return err
	}
	switch order.Role {
	case wire.RoleHeld:
	case wire.RoleReplica:
		if order.Primary == nil || order.Primary.Host == "" {
			return refused(wire.CodeInvalid, 0, "a replica needs a primary to follow")
		}
	case wire.RolePrimary:
		if !a.granted && order.Epoch <= a.disk.primary {
			return refused(wire.CodeStaleEpoch, a.disk.seen, "the server that was primary under this epoch is gone or has handed over")
		}
	default:
		return refused(wire.CodeInvalid, 0, "unknown role "+string(order.Role))
	}
	return nil
}

func (a *agent) admitOrder(cluster string, epoch int64) error {
	switch {
	case cluster != a.cluster:
		return refused(wire.CodeWrongCluster, 0, "this member belongs to another cluster")
	case epoch < a.disk.seen:
		return refused(wire.CodeStaleEpoch, a.disk.seen, "a later epoch was seen")
	}
	return nil
}

func refused(code string, epoch int64, message string) error {
	return &fleet.RefusedError{Code: code, Epoch: epoch, Message: message}
}

// apply makes the server what the newest assignment says.
func (a *agent) apply() {
	digest, err := a.assigned.Digest()
	if err != nil {
		a.assignmentError = err.Error()
		return
	}
	s := a.server
	switch a.assigned.Role {
	case wire.RolePrimary:
		s.promote(a.w)
	case wire.RoleReplica:
		s.follow(a.assigned.Primary.Host)
	case wire.RoleHeld:
		s.follow("")
	}
	wishes := decodeWishes(a.assigned.Engine)
	s.setUsers(wishes)
	refusals := s.setParameters(wishes, a.w.Refuses)
	a.pending, a.fenced = false, false
	a.digest, a.assignmentError = digest, ""
	if len(refusals) > 0 {
		a.digest, a.assignmentError = "", strings.Join(slices.Sorted(maps.Values(refusals)), "; ")
	}
}

func decodeWishes(raw json.RawMessage) facts.Wishes {
	var w facts.Wishes
	// What cannot be read wishes nothing, which shows in the end.
	_ = json.Unmarshal(raw, &w)
	return w
}

// kill ends the server and keeps it down.
func (a *agent) kill(order wire.Kill) error {
	if err := a.admitOrder(order.Cluster, order.Epoch); err != nil {
		return err
	}
	a.see(order.Epoch)
	a.stripped()
	a.serverEnds("killed by order")
	a.killedEpoch = order.Epoch
	return nil
}

// handOver gives the role to a replica that is in step.
func (a *agent) handOver(order wire.HandOver) error {
	if err := a.admitOrder(order.Cluster, order.Epoch); err != nil {
		return err
	}
	switch {
	case order.Epoch <= a.disk.primary:
		return refused(wire.CodeStaleEpoch, a.disk.seen, "a hand-over needs a higher epoch than the primary's own")
	case !a.granted && a.handedOver == order.Epoch:
		return nil
	case !a.granted:
		return refused(wire.CodeInvalid, 0, "this member is not primary")
	case !a.running():
		return refused(wire.CodeEngine, 0, "the server is not ready to hand over")
	}
	a.see(order.Epoch)
	to := a.w.at(order.To.Host)
	if to == nil || !to.running() || to.server.following != a.ip || to.server.link != linkUp {
		return refused(wire.CodeEngine, 0, "ERR FAILOVER target HOST and PORT is not a replica.")
	}
	// The engine stops writes until the replica has them all, then swaps the two.
	to.server.catchUp(a.server, to.disk)
	to.server.promote(a.w)
	a.server.follow(to.ip)
	a.stripped()
	a.handedOver = order.Epoch
	return nil
}

// at is the agent behind an address.
func (w *World) at(ip string) *agent {
	for _, a := range w.agents {
		if a.ip == ip && !a.gone {
			return a
		}
	}
	return nil
}
