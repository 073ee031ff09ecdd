package topology

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/rollout"
)

// Name of the state that a cluster is in.
type Name string

// The states. Exactly one holds; Decide tries them in the order of docs/designs/failover.md.
const (
	Paused          Name = "Paused"
	Deleting        Name = "Deleting"
	Creating        Name = "Creating"
	Bootstrapping   Name = "Bootstrapping"
	FailingOver     Name = "FailingOver"
	FailoverBlocked Name = "FailoverBlocked"
	HandingOver     Name = "HandingOver"
	PrimarySuspect  Name = "PrimarySuspect"
	PrimaryUnknown  Name = "PrimaryUnknown"
	DivergentData   Name = "DivergentData"
	Joining         Name = "Joining"
	Scaling         Name = "Scaling"
	Rolling         Name = "Rolling"
	AwaitingConsent Name = "AwaitingConsent"
	Settled         Name = "Settled"
)

// Decision says what a cluster is in and what is to be done about it.
type Decision struct {
	State Name
	// Why is a sentence for people.
	Why string
	// Steps in order. A later step must not begin before an earlier one succeeded. At most one of
	// them disrupts (I8).
	Steps []Step
	// WakeAfter is when to look again if nothing happens before; 0: no need.
	WakeAfter time.Duration
	// SetReplicas is the number of pods that the StatefulSet shall ask for.
	SetReplicas int
	// Outdated names the members that wait for a restart, with the reasons.
	Outdated map[string][]rollout.Reason
}

// Step is one thing to do. Exactly one field is set.
type Step struct {
	// Store writes the intent to the status, before any effect of it (I4).
	Store *Intent
	// Route leads the primary Service to a pod, or nowhere.
	Route *Route
	// Assign gives members their roles, all at the same time.
	Assign *Assign
	// Kill a server that must not go on.
	Kill *Kill
	// HandOver moves the role from a healthy primary.
	HandOver *Move
	// DeletePod restarts a member.
	DeletePod *DeletePod
	// Announce something that was completed, in the event catalogue's words.
	Announce *Announce
}

// Route names the pod that the primary Service leads to. Both empty: none.
type Route struct {
	Pod string
	UID string
}

// Role that a member is given.
type Role string

// The roles.
const (
	Held    Role = "Held"
	Primary Role = "Primary"
	Replica Role = "Replica"
)

// Assign gives roles in an epoch. A Replica follows Primary.
type Assign struct {
	Epoch   int64
	Primary string
	Roles   map[string]Role
}

// Kill names the pod whose server is to be killed, and the epoch that keeps it down.
type Kill struct {
	Pod    string
	UID    string
	Epoch  int64
	Reason string
}

// Move is a planned hand-over.
type Move struct {
	From  string
	To    string
	Epoch int64
}

// DeletePod names a pod by its UID, and says why.
type DeletePod struct {
	Pod     string
	UID     string
	Reason  string
	Primary bool
}

// Occasion is something that happened once.
type Occasion string

// The occasions that a decision announces.
const (
	Bootstrapped      Occasion = "Bootstrapped"
	FailoverStarted   Occasion = "FailoverStarted"
	FailoverCompleted Occasion = "FailoverCompleted"
	HandOverStarted   Occasion = "HandOverStarted"
	HandOverCompleted Occasion = "HandOverCompleted"
	HandOverGivenUp   Occasion = "HandOverGivenUp"
	// WritesDiscarded: a former primary holds unconfirmed writes that its successor has not got.
	WritesDiscarded Occasion = "WritesDiscarded"
)

// Announce carries an occasion and who it concerns.
type Announce struct {
	Occasion Occasion
	From     string
	To       string
	Reason   string
	// Bytes concerned, for WritesDiscarded.
	Bytes int64
}

// Disrupts says whether the step takes something from a client or from redundancy.
func (s Step) Disrupts() bool {
	if s.Kill != nil || s.HandOver != nil || s.DeletePod != nil {
		return true
	}
	return s.Assign != nil && slices.Contains(slices.Collect(maps.Values(s.Assign.Roles)), Primary)
}

func (d *Decision) add(steps ...Step) { d.Steps = append(d.Steps, steps...) }

// wake asks to look again after a time; the earliest request wins.
func (d *Decision) wake(after time.Duration) {
	after = max(after, time.Millisecond)
	if d.WakeAfter == 0 || after < d.WakeAfter {
		d.WakeAfter = after
	}
}
