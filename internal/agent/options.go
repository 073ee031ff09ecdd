package agent

import (
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/holdfast-dev/holdfast/internal/agent/exposition"
)

// Times of the loop.
const (
	// tick is how often the lease and the silence of the server are looked at, and the server is asked: a
	// link that breaks is known within it.
	tick = 100 * time.Millisecond
	// answerWithin is how long a server may take to answer before it counts as unresponsive.
	answerWithin = time.Second
	// applyWait bounds how long an Assignment's caller waits; the work goes on behind it.
	applyWait = 1500 * time.Millisecond
	// jobTimeout bounds one try to apply an assignment.
	jobTimeout = 10 * time.Second
	// retryAfter is the pause after an assignment that the engine could not apply.
	retryAfter = 500 * time.Millisecond
	// firstRestart and lastRestart bound the pause before a server that died starts again.
	firstRestart = 100 * time.Millisecond
	lastRestart  = 5 * time.Second
	// settled is how long a server must have run for the pause to start small again.
	settled = 10 * time.Second
	// stopWithin is how long a server may take to end in order before it is killed.
	stopWithin = 30 * time.Second
)

// Options of an agent.
type Options struct {
	// Identity of the member.
	Identity Identity
	// Engine to drive.
	Engine Engine
	// Orders is the listener for the manager and the peers, Probes that for the kubelet and Prometheus.
	Orders, Probes net.Listener
	// TLS of Orders and of the calls to peers.
	TLS *Certificates
	// StateDir keeps the epoch, on the data volume.
	StateDir string
	// Relief is how long a primary that must stop waits for the manager to give its role away.
	Relief time.Duration
	// Output takes what the server prints.
	Output io.Writer
	// Metrics of the engine.
	Metrics func() []exposition.Family
	Logger  *slog.Logger
	Clock   Clock
}

// Identity of a member.
type Identity struct {
	// Version of the agent, Instance a random name of this process.
	Version, Instance string
	// Pod and PodUID as the downward API tells them.
	Pod, PodUID string
	// Cluster is the UID of the owning cluster.
	Cluster string
}
