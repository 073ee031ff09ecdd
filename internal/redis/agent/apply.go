package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	base "github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Apply implements base.Roles. The role comes as early as it can: a failover must not wait for,
// or fail with, a setting that the server refuses.
func (e *Engine) Apply(ctx context.Context, a wire.Assignment) error {
	w, err := decodeWishes(a)
	if err != nil {
		return err
	}
	settings, refused := wanted(w.Parameters)
	if err := e.applyPrimaryLogin(ctx, w); err != nil {
		return err
	}
	// Before a server takes writes it must know how many replicas a write needs.
	if err := e.applyGuard(ctx, settings); err != nil {
		return err
	}
	if err := e.applyRole(ctx, a); err != nil {
		return err
	}
	usersErr := e.applyUsers(ctx, w)
	settingsErr := e.applySettings(ctx, withoutRestartOnly(settings, w.RestartOnly), refused)
	return incomplete(usersErr, settingsErr, refused)
}

// applyPrimaryLogin sets what the server signs in with at its primary.
func (e *Engine) applyPrimaryLogin(ctx context.Context, w facts.Wishes) error {
	wish := map[string]string{primaryUser: w.ReplicationUser, primaryPassword: w.ReplicationPassword}
	return e.changeIfDifferent(ctx, wish)
}

func (e *Engine) applyGuard(ctx context.Context, settings map[string]string) error {
	guard := map[string]string{}
	for _, name := range []string{minReplicas, minReplicasLag} {
		if value, ok := settings[name]; ok {
			guard[name] = value
		}
	}
	if guard[minReplicas] == "" {
		// What a fence raised must come down again, also when nothing is wished.
		guard[minReplicas] = "0"
	}
	return e.changeIfDifferent(ctx, guard)
}

func (e *Engine) changeIfDifferent(ctx context.Context, wish map[string]string) error {
	live, err := e.orders().Settings(ctx, slices.Sorted(maps.Keys(wish)))
	if err != nil {
		return err
	}
	change := map[string]string{}
	for name, value := range wish {
		if !sameValue(name, value, live[name]) {
			change[name] = value
		}
	}
	return e.orders().ChangeSettings(ctx, change)
}

// applyRole changes the role if it differs. A server that was primary drops its clients then, so
// that they find the new one.
func (e *Engine) applyRole(ctx context.Context, a wire.Assignment) error {
	state, err := e.orders().State(ctx)
	if err != nil {
		return err
	}
	switch a.Role {
	case wire.RolePrimary:
		if state.Role == protocol.RolePrimary {
			return nil
		}
		return e.orders().Promote(ctx)
	case wire.RoleReplica:
		return e.follow(ctx, state, protocol.Address{Host: a.Primary.Host, Port: a.Primary.Port})
	case wire.RoleHeld:
		return e.follow(ctx, state, protocol.Nowhere())
	}
	return fmt.Errorf("unknown role %q", a.Role)
}

func (e *Engine) follow(ctx context.Context, state protocol.State, primary protocol.Address) error {
	if state.Role == protocol.RoleReplica && state.Primary == primary {
		return nil
	}
	if err := e.orders().Follow(ctx, primary); err != nil {
		return err
	}
	if state.Role == protocol.RolePrimary {
		return e.orders().DisconnectClients(ctx)
	}
	return nil
}

func withoutRestartOnly(settings map[string]string, restartOnly []string) map[string]string {
	live := maps.Clone(settings)
	for _, name := range restartOnly {
		delete(live, strings.ToLower(name))
	}
	return live
}

// incomplete says what of an assignment is not in force although its role is.
func incomplete(usersErr, settingsErr error, refused map[string]string) error {
	// A server that did not answer may answer next time; one that refused will refuse again.
	for _, err := range []error{usersErr, settingsErr} {
		if err != nil && !isRefusal(err) {
			return err
		}
	}
	reasons := []string{}
	if usersErr != nil {
		reasons = append(reasons, usersErr.Error())
	}
	if settingsErr != nil && len(refused) == 0 {
		reasons = append(reasons, settingsErr.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		reasons = append(reasons, fmt.Sprintf("setting %s: %s", name, refused[name]))
	}
	if len(reasons) == 0 {
		return nil
	}
	return &base.IncompleteError{Reason: strings.Join(reasons, "; ")}
}

func isRefusal(err error) bool {
	var no *protocol.RefusedError
	return errors.As(err, &no) || errors.Is(err, errNotKept)
}
