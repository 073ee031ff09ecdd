package execute

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// leasePeers is how many peers must be in touch for a primary to keep its lease while the manager
// is silent. One: it is among those that the election holds before it promotes anybody.
const leasePeers = 1

// order is an assignment on its way to one member.
type order struct {
	member     *topology.Member
	contact    fleet.Contact
	assignment wire.Assignment
	digest     string
	// settled: the member has this role in this epoch already, and only wishes or peers differ.
	settled bool
	// refused: the member has this order already and refused a part of it.
	refused bool
}

// assign sends the roles. Members that change their role are told at the same time. Those that only
// get new wishes are told in the order that keeps a refused wish from spreading: one replica first,
// then the other replicas, the primary last.
func (e *Executor) assign(ctx context.Context, r *Run, a topology.Assign) (bool, error) {
	orders, err := e.orders(r, a)
	if err != nil {
		return false, err
	}
	var urgent, settled []order
	for _, o := range orders {
		switch {
		case o.settled:
			settled = append(settled, o)
		case !o.refused:
			urgent = append(urgent, o)
		}
	}
	if err := e.sendAll(ctx, r, urgent); err != nil {
		return len(urgent) > 0, err
	}
	sent, err := e.refresh(ctx, r, settled)
	return len(urgent) > 0 || sent, err
}

// refresh brings new wishes to members that keep their role. It says whether any was sent.
func (e *Executor) refresh(ctx context.Context, r *Run, orders []order) (bool, error) {
	if slices.ContainsFunc(orders, func(o order) bool { return o.refused }) {
		return false, nil
	}
	slices.SortStableFunc(orders, func(a, b order) int { return cmp.Compare(rank(a), rank(b)) })
	for _, o := range orders {
		record, err := e.send(ctx, r, o)
		if err != nil {
			return true, err
		}
		r.Memory.Delivered(o.contact.PodUID, o.digest, record)
		if record.AssignmentError != "" {
			e.Announcer.ConfigRefused(r.Cluster, o.member.Name, record.AssignmentError)
			return true, nil
		}
	}
	return len(orders) > 0, nil
}

func rank(o order) int {
	if o.assignment.Role == wire.RolePrimary {
		return 1
	}
	return 0
}

// orders builds the assignments that differ from what the agents have applied, without those that an
// agent has and still works on.
func (e *Executor) orders(r *Run, a topology.Assign) ([]order, error) {
	var out []order
	for _, name := range slices.Sorted(maps.Keys(a.Roles)) {
		m := member(r, name)
		if m == nil {
			return nil, fmt.Errorf("assign %s: no such member", name)
		}
		contact, ok := r.Contacts[m.Pod.UID]
		if !ok {
			return nil, fmt.Errorf("assign %s: no agent", name)
		}
		assignment, err := build(r, a, m)
		if err != nil {
			return nil, err
		}
		digest, err := assignment.Digest()
		if err != nil {
			return nil, err
		}
		fenced := contact.Record != nil && contact.Record.WritesFenced
		if contact.Record != nil && contact.Record.AssignmentDigest == digest && !fenced {
			continue
		}
		o := order{member: m, contact: contact, assignment: assignment, digest: digest, settled: settled(r, a, m)}
		// A primary that blocks writes although it is heard is told again: only the manager's word lifts that.
		if r.Memory.Holds(contact.PodUID, digest, contact.Record) && !fenced {
			if contact.Record.AssignmentError == "" {
				continue
			}
			o.refused = true
		}
		out = append(out, o)
	}
	return out, nil
}

// settled says whether the member has its role already, so that the order is not urgent.
func settled(r *Run, a topology.Assign, m *topology.Member) bool {
	if m.Agent == nil || m.Agent.Epoch != a.Epoch || m.Agent.Phase != topology.Running {
		return false
	}
	f := m.Agent.Facts
	switch a.Roles[m.Name] {
	case topology.Primary:
		return f.IsPrimary
	case topology.Replica:
		p := member(r, a.Primary)
		return p != nil && !f.IsPrimary && f.Following == p.Pod.Address
	case topology.Held:
		return !f.IsPrimary && f.Following == ""
	}
	return false
}

func build(r *Run, a topology.Assign, m *topology.Member) (wire.Assignment, error) {
	wishes, err := json.Marshal(r.Wishes)
	if err != nil {
		return wire.Assignment{}, fmt.Errorf("encode wishes: %w", err)
	}
	out := wire.Assignment{
		Cluster:   r.State.Want.Cluster,
		Epoch:     a.Epoch,
		Role:      wire.Role(a.Roles[m.Name]),
		Peers:     peers(r, m.Name),
		Lease:     r.State.Want.Lease,
		Isolation: r.Cluster.Spec.Failover.Isolation.Duration,
		Engine:    wishes,
	}
	if len(out.Peers) > 0 {
		out.LeasePeers = leasePeers
	}
	if out.Role == wire.RoleReplica {
		p := member(r, a.Primary)
		if p == nil || p.Pod.Address == "" {
			return wire.Assignment{}, fmt.Errorf("assign %s: primary %s has no address", m.Name, a.Primary)
		}
		to := endpoint(p)
		out.Primary = &to
	}
	return out, nil
}

func endpoint(m *topology.Member) wire.Endpoint {
	return wire.Endpoint{Pod: m.Name, Host: m.Pod.Address, Port: naming.RedisPort}
}

func peers(r *Run, except string) []wire.PeerAddress {
	var out []wire.PeerAddress
	for i := range r.State.Members {
		if m := &r.State.Members[i]; m.Name != except && m.Pod.Exists && m.Pod.Address != "" {
			out = append(out, wire.PeerAddress{Pod: m.Name, Host: m.Pod.Address, Port: naming.AgentPort})
		}
	}
	return out
}

// sendAll gives all orders at the same time and waits for every answer.
func (e *Executor) sendAll(ctx context.Context, r *Run, orders []order) error {
	errs := make([]error, len(orders))
	answers := make([]wire.Record, len(orders))
	var wg sync.WaitGroup
	for i, o := range orders {
		wg.Go(func() { answers[i], errs[i] = e.send(ctx, r, o) })
	}
	wg.Wait()
	for i, o := range orders {
		if errs[i] == nil {
			r.Memory.Delivered(o.contact.PodUID, o.digest, answers[i])
		}
		if o.assignment.Role == wire.RolePrimary {
			r.Timeline.promoted(e.Now())
		}
	}
	return errors.Join(errs...)
}

func (e *Executor) send(ctx context.Context, r *Run, o order) (wire.Record, error) {
	record, err := e.Orders.Assign(ctx, o.contact.Member, o.assignment)
	if err != nil {
		return wire.Record{}, err
	}
	r.Log.V(1).Info("assigned role", "pod", o.member.Name, "role", o.assignment.Role, "epoch", o.assignment.Epoch)
	return record, nil
}
