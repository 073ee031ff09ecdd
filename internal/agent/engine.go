package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Engine is a database server as the runtime sees it. Observe is called while any of the other
// methods runs; the others are called one at a time. Every method returns soon after its context
// ended.
type Engine interface {
	Lifecycle
	Roles
}

// Lifecycle is the server as a process.
type Lifecycle interface {
	// Inspect reads what the data directory claims, while no server runs.
	Inspect(ctx context.Context) (Observation, error)
	// Prepare writes what the server needs to boot in role Held with the assignment's wishes, and
	// says how to start it.
	Prepare(ctx context.Context, a wire.Assignment) (Command, error)
	// Observe asks the running server; epoch is the highest that the agent has seen. An error means
	// that the server did not answer.
	Observe(ctx context.Context, epoch int64) (Observation, error)
	// Stop asks the server to end in order. It may return before the process is gone.
	Stop(ctx context.Context) error
}

// Roles changes what the server is.
type Roles interface {
	// Apply makes the server what the assignment says. It compares first and changes what differs.
	// An IncompleteError says that the role is in force and something else is not.
	Apply(ctx context.Context, a wire.Assignment) error
	// HandOver gives the role of primary to another server. On an error the server is still primary
	// and takes writes.
	HandOver(ctx context.Context, h wire.HandOver) error
	// Fence makes a primary refuse writes until the next Apply.
	Fence(ctx context.Context) error
}

// Command starts the server. It has no secrets: the arguments of a process are no private place.
type Command struct {
	Path string
	Args []string
	Dir  string
}

// Observation is what the engine read.
type Observation struct {
	// Loaded: the server has its data and can take orders; before, it is still starting.
	Loaded bool
	// Role that the server has now.
	Role wire.Role
	// Serving: it does what clients expect of its role. A primary takes writes, a replica is in step.
	Serving bool
	// Material is equal for two observations between which nothing changed that a decision depends on.
	Material string
	// Facts for Record.Engine.
	Facts json.RawMessage
}

// IncompleteError says that an assignment's role is in force and a part of its wishes is not.
type IncompleteError struct{ Reason string }

func (e *IncompleteError) Error() string { return e.Reason }

// Refusal is an order that the agent does not obey, with the answer that says so.
type Refusal struct {
	Status int
	Answer wire.Error
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Answer.Code, r.Answer.Message) }
