package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	base "github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// commandWithin bounds one command; a server that takes longer hangs.
const commandWithin = time.Second

// Options of an engine.
type Options struct {
	// Cluster is the UID of the owning cluster.
	Cluster string
	// DataDir holds the database's files, StateDir the agent's own beside them, RunDir the rendered
	// files and the socket.
	DataDir, StateDir, RunDir string
	// Port that the server listens on.
	Port int32
	// ServerPath overrides the program to start, which is otherwise found by the wishes' engine.
	ServerPath string
	// Dial connects to the server's socket.
	Dial   func(protocol.Options) protocol.Server
	Logger *slog.Logger
	Now    func() time.Time
}

// Engine is a base.Engine for Redis and Valkey.
type Engine struct {
	opt      Options
	password string
	lineage  *lineageFile

	// Owned by the caller of Prepare and Apply, which the runtime calls one at a time.
	live liveSettings
	acl  knownUsers

	mu   sync.Mutex
	link link
	seen seen
}

// link is two connections to the running server, so that an order that hangs hides nothing.
type link struct{ orders, watch protocol.Server }

// seen is what the metrics and the facts are made of.
type seen struct {
	state    protocol.State
	answered bool
	// unwritten: the data came from another server and the append-only file on disk is still the one
	// from before.
	unwritten bool
	// links counts how often the link to a primary came up.
	links int64
	// joined: the server was primary or in touch with one since its start.
	joined       bool
	stored       *facts.Stored
	configErrors map[string]string
	passwords    []string
}

// New prepares an engine. It makes the password of the agent's own user, which lives in this process alone.
func New(o Options) (*Engine, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("make the agent's password: %w", err)
	}
	e := &Engine{opt: o, password: hex.EncodeToString(secret), lineage: newLineageFile(o)}
	e.link = e.dial()
	return e, nil
}

func (e *Engine) dial() link {
	o := protocol.Options{
		Network:  "unix",
		Address:  e.socket(),
		User:     naming.UserAgent,
		Password: e.password,
		Timeout:  commandWithin,
	}
	return link{orders: e.opt.Dial(o), watch: e.opt.Dial(o)}
}

// redial leaves behind what a server before has made of the connections.
func (e *Engine) redial() error {
	next := e.dial()
	e.mu.Lock()
	former := e.link
	e.link = next
	e.mu.Unlock()
	return former.close()
}

func (l link) close() error { return errors.Join(l.orders.Close(), l.watch.Close()) }

func (e *Engine) orders() protocol.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.link.orders
}

func (e *Engine) watch() protocol.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.link.watch
}

// Close drops the connections and ends what the engine does in the background.
func (e *Engine) Close() error {
	e.lineage.wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.link.close()
}

func (e *Engine) socket() string     { return filepath.Join(e.opt.RunDir, "redis.sock") }
func (e *Engine) configPath() string { return filepath.Join(e.opt.RunDir, "redis.conf") }
func (e *Engine) aclPath() string    { return filepath.Join(e.opt.RunDir, "users.acl") }

// Stop implements base.Lifecycle.
func (e *Engine) Stop(ctx context.Context) error {
	state, err := e.orders().State(ctx)
	if err != nil {
		return err
	}
	e.mu.Lock()
	joined, unwritten := e.seen.joined, e.seen.unwritten
	e.mu.Unlock()
	// The memory of a server that loads or synchronises is no complete data set: saving it would
	// replace a good file by a part of one. A server that was only held has nothing that its files do
	// not have, and an empty file in place of none would look like data.
	if state.Loading || state.SyncInProgress || !joined {
		return e.orders().Shutdown(ctx, protocol.KeepFiles)
	}
	if !unwritten {
		e.lineage.keepNow(state)
	}
	return e.orders().Shutdown(ctx, protocol.SaveAsConfigured)
}

// HandOver implements base.Roles.
func (e *Engine) HandOver(ctx context.Context, h wire.HandOver) error {
	to := protocol.Address{Host: h.To.Host, Port: h.To.Port}
	state, err := e.orders().State(ctx)
	if err != nil {
		return err
	}
	if state.Role == protocol.RoleReplica && state.Primary == to {
		return nil
	}
	before, err := e.orders().Settings(ctx, []string{minReplicas, "hz"})
	if err != nil {
		return err
	}
	return errors.Join(e.swap(ctx, h), e.restoreSettings(ctx, before))
}

// swap makes a hand-over take milliseconds. By itself the engine pauses writes and then waits until the
// replica happens to confirm, which it does once a second, and looks for that ten times a second. So
// writes are refused first and the replicas confirm all there is; then nothing is left to wait for.
// Where the successor does not confirm in time, the engine waits in its own way.
func (e *Engine) swap(ctx context.Context, h wire.HandOver) error {
	to := protocol.Address{Host: h.To.Host, Port: h.To.Port}
	if err := e.orders().ChangeSettings(ctx, map[string]string{minReplicas: fencedMinReplicas, "hz": handOverHz}); err != nil {
		return err
	}
	inStep, err := e.confirmed(ctx, to)
	if err != nil {
		return err
	}
	if inStep {
		err = e.orders().Swap(ctx, to)
	} else {
		err = e.orders().BeginHandOver(ctx, to, h.Timeout)
	}
	if err != nil {
		return err
	}
	return e.finishHandOver(ctx, to)
}

// confirmed says whether the server at that address has everything that was written up to now. It is
// that server's own confirmation that counts, not the number of those that came.
func (e *Engine) confirmed(ctx context.Context, by protocol.Address) (bool, error) {
	written, err := e.orders().State(ctx)
	if err != nil {
		return false, err
	}
	if _, err := e.orders().Confirmed(ctx, len(written.Replicas), confirmWithin); err != nil {
		return false, err
	}
	now, err := e.orders().State(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(now.Replicas, func(r protocol.Replica) bool {
		return r.Address == by && r.Online && r.Offset >= written.Offset
	}), nil
}

// finishHandOver waits until the engine has swapped the two servers, and sends the clients away.
func (e *Engine) finishHandOver(ctx context.Context, to protocol.Address) error {
	state, err := e.awaitHandOver(ctx)
	if err != nil {
		abort, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandWithin)
		defer cancel()
		return errors.Join(err, e.orders().AbortHandOver(abort))
	}
	if state.Role != protocol.RoleReplica || state.Primary != to {
		return errors.New("the hand-over ended without a change: the other server did not catch up in time")
	}
	return e.orders().DisconnectClients(ctx)
}

// restoreSettings puts back what a hand-over changed, whatever became of it.
func (e *Engine) restoreSettings(ctx context.Context, before map[string]string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandWithin)
	defer cancel()
	return e.orders().ChangeSettings(ctx, before)
}

const (
	// confirmWithin is how long the replicas may take to confirm before a hand-over begins without it.
	confirmWithin = 200 * time.Millisecond
	// handOverHz is how often a second the server looks after a hand-over; its default is 10.
	handOverHz = "200"
)

// handOverPoll is how often the progress of a hand-over is read: writes are paused meanwhile.
const handOverPoll = 5 * time.Millisecond

func (e *Engine) awaitHandOver(ctx context.Context) (protocol.State, error) {
	ticks := time.NewTicker(handOverPoll)
	defer ticks.Stop()
	for {
		state, err := e.orders().State(ctx)
		if err != nil || state.HandOver == protocol.HandOverNone {
			return state, err
		}
		select {
		case <-ctx.Done():
			return state, ctx.Err()
		case <-ticks.C:
		}
	}
}

// Fence implements base.Roles. A primary that wants more replicas than there can be refuses every
// write at once, which tells a client more than a pause in which it hangs.
func (e *Engine) Fence(ctx context.Context) error {
	return e.orders().ChangeSettings(ctx, map[string]string{
		minReplicas:    fencedMinReplicas,
		minReplicasLag: defaultMinReplicasLag,
	})
}

func decodeWishes(a wire.Assignment) (facts.Wishes, error) {
	var w facts.Wishes
	if err := json.Unmarshal(a.Engine, &w); err != nil {
		return w, fmt.Errorf("read the wishes: %w", err)
	}
	return w, nil
}

var _ base.Engine = (*Engine)(nil)
