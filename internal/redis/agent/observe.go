package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	base "github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Inspect implements base.Lifecycle.
func (e *Engine) Inspect(context.Context) (base.Observation, error) {
	stored, err := e.lineage.read()
	if err != nil {
		return base.Observation{}, err
	}
	e.mu.Lock()
	e.seen.stored, e.seen.answered = stored, false
	e.mu.Unlock()
	f := facts.Facts{Stored: stored, LastIOMillis: -1}
	return observation(f, protocol.State{})
}

// Observe implements base.Lifecycle. A server that is busy is alive: it counts as an answer with
// the state that was known before.
func (e *Engine) Observe(ctx context.Context, epoch int64) (base.Observation, error) {
	state, err := e.watch().State(ctx)
	e.mu.Lock()
	if errors.Is(err, protocol.ErrBusy) && e.seen.answered {
		state, err = e.seen.state, nil
	}
	if err != nil {
		e.seen.answered = false
		e.mu.Unlock()
		return base.Observation{}, err
	}
	e.seen.note(state)
	keep, v := e.seen.describesFiles(), version{changes: state.Changes, links: e.seen.links}
	f := toFacts(state)
	f.Unjoined = !e.seen.joined
	f.Stored = e.seen.stored
	f.ConfigErrors = maps.Clone(e.seen.configErrors)
	f.PasswordsAccepted = e.seen.passwords
	e.mu.Unlock()
	if keep {
		e.lineage.keep(state, v, epoch)
	}
	return observation(f, state)
}

// note takes the newest state of the running server.
func (s *seen) note(state protocol.State) {
	if linked := state.Link.Up && !(s.answered && s.state.Link.Up); linked {
		s.unwritten = true
		s.links++
	}
	if !state.Rewriting {
		s.unwritten = false
	}
	s.joined = s.joined || state.Role == protocol.RolePrimary || state.Link.Up
	s.state, s.answered = state, true
}

// describesFiles says whether the state is also that of the files. A server that was only held since
// its start may have a new random lineage, while its data still has the recorded one; one that
// synchronises has neither the old nor the new data; and after a synchronisation the append-only file
// is the old one until it is written anew.
func (s *seen) describesFiles() bool {
	return s.joined && !s.unwritten && !s.state.Loading && !s.state.SyncInProgress
}

func observation(f facts.Facts, s protocol.State) (base.Observation, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return base.Observation{}, fmt.Errorf("encode the facts: %w", err)
	}
	o := base.Observation{Loaded: s.Version != "" && !s.Loading, Role: roleOf(s), Facts: b, Material: material(f)}
	switch o.Role {
	case wire.RolePrimary:
		o.Serving = o.Loaded
	case wire.RoleReplica:
		o.Serving = o.Loaded && s.Link.Up && !s.SyncInProgress
	case wire.RoleHeld:
	}
	return o, nil
}

func roleOf(s protocol.State) wire.Role {
	switch {
	case s.Role == protocol.RolePrimary:
		return wire.RolePrimary
	case s.Role == protocol.RoleReplica && s.Primary != protocol.Nowhere():
		return wire.RoleReplica
	default:
		return wire.RoleHeld
	}
}

func toFacts(s protocol.State) facts.Facts {
	f := facts.Facts{
		Version:        s.Version,
		RunID:          s.RunID,
		IsPrimary:      s.Role == protocol.RolePrimary,
		ReplID:         s.ReplID,
		ReplID2:        s.ReplID2,
		SecondOffset:   s.SecondOffset,
		Offset:         s.Offset,
		LinkUp:         s.Link.Up,
		LinkDownMillis: max(0, s.Link.DownFor.Milliseconds()),
		LastIOMillis:   -1,
		SyncInProgress: s.SyncInProgress,
		Loading:        s.Loading,
		FailoverState:  string(s.HandOver),
		Keys:           s.Keys(),
		UsedMemory:     s.Memory.Used,
		MaxMemory:      s.Memory.Max,
		SyncFull:       s.Counters.SyncFull,
		SyncPartialOK:  s.Counters.SyncPartial,
	}
	if roleOf(s) == wire.RoleReplica {
		f.Following = hostPort(s.Primary)
	}
	if s.Link.LastIO != protocol.Never {
		f.LastIOMillis = s.Link.LastIO.Milliseconds()
	}
	for _, r := range s.Replicas {
		f.Replicas = append(f.Replicas, facts.ReplicaLink{
			Host: r.Address.Host, Online: r.Online, Offset: r.Offset, LagSeconds: int64(r.Lag / time.Second),
		})
	}
	return f
}

// material leaves out what moves all the time: offsets, times and sizes.
func material(f facts.Facts) string {
	replicas := make([]string, 0, len(f.Replicas))
	for _, r := range f.Replicas {
		replicas = append(replicas, fmt.Sprint(r.Host, r.Online))
	}
	slices.Sort(replicas)
	return fmt.Sprint(f.Version, f.RunID, f.IsPrimary, f.ReplID, f.ReplID2, f.SecondOffset, f.Following, f.LinkUp,
		f.SyncInProgress, f.Loading, f.Unjoined, f.FailoverState, f.MaxMemory, strings.Join(replicas, ","),
		f.Stored, f.ConfigErrors, f.PasswordsAccepted)
}
