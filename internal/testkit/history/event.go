package history

import "time"

// Kind of an operation.
type Kind string

// The kinds of operation.
const (
	// KindAdd puts ID into the set Key.
	KindAdd Kind = "add"
	// KindAppend appends ID to the list Key and, in the same transaction, may read the list.
	// It is not idempotent on purpose: a retry or a forked history shows.
	KindAppend Kind = "append"
	// KindConnect is a connection that could not be made; nothing was sent.
	KindConnect Kind = "connect"
	// KindMark is not an operation: it tells what the test did at that moment.
	KindMark Kind = "mark"
)

// Outcome of an operation, as the client can know it.
type Outcome string

// The outcomes of an operation.
const (
	// OK: the server answered that it did it.
	OK Outcome = "ok"
	// Fail: it certainly did not happen: the server refused it, or nothing was sent.
	Fail Outcome = "fail"
	// Info: it may have happened: the answer did not arrive.
	Info Outcome = "info"
)

// Event is one operation of one client.
type Event struct {
	Client int    `json:"client"`
	Kind   Kind   `json:"kind"`
	Key    string `json:"key,omitempty"`
	// ID is the unique value of the operation; 0 where there is none.
	ID uint64 `json:"id,omitempty"`
	// Call and Return are measured from the start of the recorder.
	Call   time.Duration `json:"call"`
	Return time.Duration `json:"return"`

	Outcome Outcome `json:"outcome,omitempty"`
	// Replicas that WAIT counted on the same connection right after the operation; 0 when it was not reached.
	Replicas int `json:"replicas,omitempty"`
	// ConfirmedAt is when WAIT counted at least one replica; 0: it did not.
	ConfirmedAt time.Duration `json:"confirmedAt,omitempty"`
	// Member is the server's own address on this connection.
	Member string `json:"member,omitempty"`
	// List is what an append read in its transaction; nil when it did not read.
	List []uint64 `json:"list,omitempty"`
	// Text is the error of an operation that is not OK, or the words of a mark.
	Text string `json:"text,omitempty"`
}

// Confirmed says whether a replica acknowledged the operation.
func (e Event) Confirmed() bool { return e.Outcome == OK && e.ConfirmedAt > 0 }
