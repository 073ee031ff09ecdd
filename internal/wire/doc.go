// Package wire holds the messages between the manager and the agents: plain data in JSON.
//
// The manager opens one mutual-TLS HTTP/2 connection to each agent and speaks the paths below.
// The agent pushes Records on the stream; the manager echoes each heartbeat, so that the agent
// knows, by its own clock, until when the manager has heard it. Every change the manager wants
// is an Assignment or an order that carries an epoch; the agent refuses what is older than the
// highest epoch it has seen, and never chooses a role by itself.
//
// The package must stay free of engines and of behaviour: an engine's own facts and wishes
// travel as raw JSON in Record.Engine and Assignment.Engine.
// Compatibility: the manager speaks to agents one minor version older. Fields are only ever
// added, and a missing field must mean the old behaviour.
//
// Start with Record (agent to manager) and Assignment (manager to agent).
package wire

// Paths that an agent serves on its port, over HTTP/2 with mutual TLS.
const (
	// PathStream (POST, full duplex): the agent writes Records, one JSON value a line; the
	// manager writes Echoes.
	PathStream = "/v1/stream"
	// PathAssignment (PUT): body Assignment; answers with the Record after it was applied.
	PathAssignment = "/v1/assignment"
	// PathHandOver (POST): body HandOver; answers with the Record after the hand-over ended.
	PathHandOver = "/v1/handover"
	// PathKill (POST): body Kill; answers with the Record once the server is dead.
	PathKill = "/v1/kill"
	// PathRefresh (POST): answers with a Record read at this moment.
	PathRefresh = "/v1/refresh"
	// PathPeer (POST): body and answer Peer; the one path that agents may call on each other.
	PathPeer = "/v1/peer"
)

// Names in the certificates of the per-cluster authority. An agent lets only the manager give
// orders; other agents may only call PathPeer.
const (
	CommonNameManager = "holdfast-manager"
	CommonNameAgent   = "holdfast-agent"
)
