package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Role is what the manager tells a member to be.
type Role string

// The roles that can be assigned.
const (
	// RoleHeld: run, read-only, replicating from nobody, in no Service. Cuts a replication link that exists.
	RoleHeld Role = "Held"
	// RolePrimary: take writes.
	RolePrimary Role = "Primary"
	// RoleReplica: replicate from Assignment.Primary.
	RoleReplica Role = "Replica"
)

// Assignment is all that the manager wants of a member. It is complete and idempotent: the agent
// compares it with what is, and changes what differs.
type Assignment struct {
	// Cluster is the UID of the owning cluster; an agent of another cluster refuses.
	Cluster string `json:"cluster"`
	// Epoch of the decision. The agent refuses one below the highest it has seen. A change
	// from Held or Replica to Primary needs a higher epoch than that of any earlier assignment as
	// primary, or the same one repeated.
	Epoch int64 `json:"epoch"`
	// Role to take.
	Role Role `json:"role"`
	// Primary to replicate from; set for RoleReplica.
	Primary *Endpoint `json:"primary,omitempty"`
	// Peers to keep in touch with: all other members that have an address.
	Peers []PeerAddress `json:"peers,omitempty"`
	// LeasePeers is how many peers of the same epoch must be in touch for a primary to keep taking
	// writes while the manager is silent. 0 with no peers: no lease.
	LeasePeers int `json:"leasePeers"`
	// Lease after which a primary out of touch blocks writes. Shorter than the manager's detection.
	Lease time.Duration `json:"lease"`
	// Isolation after which a member out of touch with everybody kills its server.
	Isolation time.Duration `json:"isolation"`
	// HeardMono is Record.SentMono of the newest record that the manager had from this agent process
	// when it sent the assignment. An order that lay in a socket while the agent was frozen is
	// thereby no proof of contact. 0: unknown; the agent then counts from the arrival.
	HeardMono int64 `json:"heardMono,omitempty"`
	// Engine holds the engine's own wishes, for example those of internal/redis/facts.
	Engine json.RawMessage `json:"engine,omitempty"`
}

// Endpoint is an address of a server.
type Endpoint struct {
	Pod  string `json:"pod"`
	Host string `json:"host"`
	Port int32  `json:"port"`
}

// PeerAddress is where another member's agent listens.
type PeerAddress struct {
	Pod  string `json:"pod"`
	Host string `json:"host"`
	Port int32  `json:"port"`
}

// Digest names the assignment by its content, in 32 hexadecimal digits. HeardMono is not content.
func (a Assignment) Digest() (string, error) {
	a.HeardMono = 0
	b, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("encode assignment: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}

// HandOver orders a primary to give its role to a replica that is in step.
type HandOver struct {
	Cluster string `json:"cluster"`
	// Epoch of the transition; higher than the primary's own.
	Epoch int64 `json:"epoch"`
	// To is the server that takes over.
	To Endpoint `json:"to"`
	// Timeout after which the engine gives up and the old primary goes on.
	Timeout time.Duration `json:"timeout"`
}

// Kill orders the agent to kill its server (SIGKILL) and to leave it down until an assignment of
// at least this epoch arrives.
type Kill struct {
	Cluster string `json:"cluster"`
	Epoch   int64  `json:"epoch"`
	// Reason for the agent's log.
	Reason string `json:"reason"`
}

// Peer is the greeting between two agents.
type Peer struct {
	// Pod that speaks.
	Pod string `json:"pod"`
	// Cluster of the speaker.
	Cluster string `json:"cluster"`
	// Epoch is the highest that the speaker has seen. A primary that meets a higher one than its own
	// gets no lease from that peer.
	Epoch int64 `json:"epoch"`
}

// Error is the body of an answer with a status of 400 and more.
type Error struct {
	// Code is one of the Code constants.
	Code string `json:"code"`
	// Message is for people.
	Message string `json:"message"`
	// Epoch that the agent has seen, for CodeStaleEpoch.
	Epoch int64 `json:"epoch,omitempty"`
}

// Codes of refusal.
const (
	// CodeStaleEpoch (409): the order is older than what the agent has seen.
	CodeStaleEpoch = "StaleEpoch"
	// CodeWrongCluster (409): the order is meant for another cluster.
	CodeWrongCluster = "WrongCluster"
	// CodeInvalid (400): the order cannot be read or contradicts itself.
	CodeInvalid = "Invalid"
	// CodeEngine (502): the server refused or failed; the message has its words.
	CodeEngine = "Engine"
	// CodeForbidden (403): the caller's certificate does not allow this.
	CodeForbidden = "Forbidden"
)
