package wire

import (
	"encoding/json"
	"time"
)

// HeartbeatInterval is how often an agent sends a Record when nothing changes.
const HeartbeatInterval = 500 * time.Millisecond

// Record is what an agent knows about its member at one moment.
type Record struct {
	// Seq numbers the records of one agent process, from 1.
	Seq uint64 `json:"seq"`
	// Material counts the changes that a decision may depend on: server phase, role, link,
	// epoch, applied assignment, config errors. Offsets and byte counts do not move it.
	Material uint64 `json:"material"`
	// SentMono is the agent's monotonic clock when the record was made, in nanoseconds since
	// the agent started. The manager returns it in an Echo.
	SentMono int64 `json:"sentMono"`

	// AgentVersion is the version of the agent's binary.
	AgentVersion string `json:"agentVersion"`
	// AgentInstance is a random name of this agent process. A new one in the same pod proves that
	// the container was restarted, so that the server of the old one is dead.
	AgentInstance string `json:"agentInstance"`
	// PodUID as the pod was told by the downward API.
	PodUID string `json:"podUID"`
	// Cluster is the UID of the owning cluster, from the pod template.
	Cluster string `json:"cluster"`

	// Epoch is the highest epoch that the agent has seen, from its disk or from the manager.
	Epoch int64 `json:"epoch"`
	// EpochMillis is how long ago this agent process saw Epoch for the first time. Since then it has
	// prolonged no lease of a primary with a lower one.
	EpochMillis int64 `json:"epochMillis"`
	// SpentEpoch is the highest epoch under which this member was told to be primary and is no more,
	// because its server died or gave the role away; it refuses to be primary in it again. 0: none.
	SpentEpoch int64 `json:"spentEpoch,omitempty"`
	// Server is the state of the server process.
	Server Server `json:"server"`
	// AssignmentDigest of the last assignment that was applied completely; empty before the first.
	AssignmentDigest string `json:"assignmentDigest,omitempty"`
	// AssignmentError says why the last assignment was not applied completely.
	AssignmentError string `json:"assignmentError,omitempty"`
	// Stopping is set from SIGTERM on: the pod is about to go, and a primary waits a moment to be relieved.
	Stopping bool `json:"stopping,omitempty"`
	// Final marks the last record of an agent that stopped its server in order; the server is dead.
	Final bool `json:"final,omitempty"`
	// WritesFenced is set while the agent blocks writes because its lease ran out.
	WritesFenced bool `json:"writesFenced,omitempty"`
	// Isolated is set after the agent killed the server because it heard nobody for too long.
	Isolated bool `json:"isolated,omitempty"`
	// Peers as heard by this agent, by pod name.
	Peers map[string]PeerHeard `json:"peers,omitempty"`

	// Engine holds the engine's own facts, for example those of internal/redis/facts.
	Engine json.RawMessage `json:"engine,omitempty"`
}

// PeerHeard says how long ago an agent and one of its peers were in touch.
type PeerHeard struct {
	// AnsweredMillis since the peer last answered this agent's call; -1: never.
	AnsweredMillis int64 `json:"answeredMillis"`
	// CalledMillis since this agent last answered the peer's call; -1: never.
	CalledMillis int64 `json:"calledMillis"`
}

// ServerPhase is what the server process does.
type ServerPhase string

// The phases of a server process.
const (
	// ServerWaiting: not started yet; the agent waits for its first assignment.
	ServerWaiting ServerPhase = "Waiting"
	// ServerStarting: the process runs and does not answer yet, or loads its data.
	ServerStarting ServerPhase = "Starting"
	// ServerRunning: the process answers.
	ServerRunning ServerPhase = "Running"
	// ServerUnresponsive: the process exists and has not answered for UnresponsiveMillis.
	ServerUnresponsive ServerPhase = "Unresponsive"
	// ServerDown: there is no process. The agent starts it again in role Held, unless it was killed by order.
	ServerDown ServerPhase = "Down"
)

// Server is the state of the server process.
type Server struct {
	Phase ServerPhase `json:"phase"`
	// Instance counts the starts of the server by this agent process, from 1.
	Instance int `json:"instance"`
	// UnresponsiveMillis since the last answer, while Unresponsive.
	UnresponsiveMillis int64 `json:"unresponsiveMillis,omitempty"`
	// LastExit describes how the previous process ended, for people: "signal: killed".
	LastExit string `json:"lastExit,omitempty"`
	// KilledEpoch is the epoch of the Kill order that holds the server down; 0: none.
	KilledEpoch int64 `json:"killedEpoch,omitempty"`
}

// Echo is the manager's answer to a record on the stream.
type Echo struct {
	// SentMono of the newest record that the manager has received.
	SentMono int64 `json:"sentMono"`
}
