package credentials

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Source says whose Secret holds the application's password.
type Source string

const (
	// SourceGenerated: the operator made the Secret and puts it back if it is deleted. A person may
	// still change the password in it.
	SourceGenerated Source = "Generated"
	// SourceGiven: the Secret is the user's own.
	SourceGiven Source = "Given"
)

// Phase is where a change of the password stands.
type Phase string

const (
	// PhaseSettled: one password, accepted by every member.
	PhaseSettled Phase = "Settled"
	// PhaseSpreading: not every member accepts the current password yet.
	PhaseSpreading Phase = "Spreading"
	// PhaseGrace: every member accepts the current password, and an older one for a while.
	PhaseGrace Phase = "Grace"
	// PhaseSecretInvalid: the Secret has no usable password; those known before stay accepted.
	PhaseSecretInvalid Phase = "SecretInvalid"
)

// Transition is something that happened in this plan and never again: what an event is made of.
type Transition string

const (
	// TransitionChanged: a new password was seen in the Secret.
	TransitionChanged Transition = "Changed"
	// TransitionRetired: an older password is no longer accepted.
	TransitionRetired Transition = "Retired"
)

// Input of Plan.
type Input struct {
	// SecretName for messages.
	SecretName string
	// Secret is the data of the application's Secret; nil: there is none.
	Secret map[string][]byte
	Source Source
	// Stored as decoded from the internal Secret.
	Stored Stored
	// Everywhere are the digests that every member is known to accept; see Common.
	Everywhere []string
	// Grace is how long an older password stays accepted, from the moment when every member accepts
	// a newer one.
	Grace time.Duration
	// Random is read only where a password has to be made.
	Random io.Reader
}

// Result of Plan.
type Result struct {
	// Stored goes to the internal Secret before any member is told. If there was no internal Secret,
	// it must be created and not applied over one that a stale cache does not show.
	Stored Stored
	// Changed: Stored differs from the input's.
	Changed bool
	// Accepted are the digests for the default user, the current first. Empty only if no password
	// was ever known: then no member may be started or told anything.
	Accepted []string
	// Secret is the password to put into the generated Secret, which does not exist; empty: nothing
	// to do.
	Secret string
	// Phase, with a sentence for people.
	Phase       Phase
	Message     string
	Transitions []Transition
	// WakeAfter is when the next password retires; 0: nothing waits for time.
	WakeAfter time.Duration
}

// Plan says which passwords shall be stored and accepted. It fails only if random does.
func Plan(now time.Time, in Input) (Result, error) {
	p := planner{now: now.UTC().Truncate(time.Second), in: in, stored: in.Stored.clone()}
	if err := p.generate(); err != nil {
		return Result{}, err
	}
	password, invalid := readPassword(p.secret())
	if invalid == nil {
		p.see(password)
	}
	p.settle()
	p.retire()
	return p.result(invalid)
}

// Common are the digests that all members accept. Nobody accepts nothing in common with anybody.
func Common(members [][]string) []string {
	if len(members) == 0 {
		return nil
	}
	common := slices.Clone(members[0])
	for _, accepted := range members[1:] {
		common = slices.DeleteFunc(common, func(h string) bool { return !slices.Contains(accepted, h) })
	}
	return common
}

type planner struct {
	now    time.Time
	in     Input
	stored Stored
	// restored is the password for a generated Secret that is missing.
	restored    string
	transitions []Transition
}

// generate makes the passwords that do not exist. Whether the Secret of the application exists is
// no question here: one that was deleted gets the password back that it had.
func (p *planner) generate() error {
	if p.stored.Replication == "" {
		made, err := Generate(p.in.Random)
		if err != nil {
			return err
		}
		p.stored.Replication = made
	}
	if p.in.Source != SourceGenerated {
		p.stored.Application = ""
		return nil
	}
	if p.in.Secret != nil {
		return nil
	}
	if p.stored.Application == "" {
		made, err := Generate(p.in.Random)
		if err != nil {
			return err
		}
		p.stored.Application = made
	}
	p.restored = p.stored.Application
	return nil
}

// secret is the application's Secret as it is, or as it will be.
func (p *planner) secret() map[string][]byte {
	if p.restored != "" {
		return map[string][]byte{naming.KeyPassword: []byte(p.restored)}
	}
	return p.in.Secret
}

// see takes in the password that is in the Secret.
func (p *planner) see(password string) {
	if p.in.Source == SourceGenerated {
		p.stored.Application = password
	}
	hash := Hash(password)
	current := p.stored.Current
	if current != nil && current.Hash == hash {
		return
	}
	// A password may come back while it is still accepted; it must not retire then.
	p.stored.Previous = slices.DeleteFunc(p.stored.Previous, func(e Entry) bool { return e.Hash == hash })
	if current != nil {
		p.stored.Previous = slices.Insert(p.stored.Previous, 0, *current)
		p.transitions = append(p.transitions, TransitionChanged)
	}
	p.stored.Current = &Entry{Hash: hash, Since: p.now}
	p.bound()
}

// bound drops passwords when changes come faster than members and clients follow. One that never
// reached every member is dropped before one that did, since clients can hardly depend on it; the
// latest of all stays in any case.
func (p *planner) bound() {
	for len(p.stored.Previous) > maxAccepted-1 {
		drop := len(p.stored.Previous) - 1
		for i := drop; i > 0; i-- {
			if p.stored.Previous[i].AppliedAt.IsZero() {
				drop = i
				break
			}
		}
		p.stored.Previous = slices.Delete(p.stored.Previous, drop, drop+1)
		p.transitions = append(p.transitions, TransitionRetired)
	}
}

// settle notes that every member accepts the current password, which starts the grace of the others.
func (p *planner) settle() {
	current := p.stored.Current
	if current == nil || !slices.Contains(p.in.Everywhere, current.Hash) {
		return
	}
	if current.AppliedAt.IsZero() {
		current.AppliedAt = p.now
	}
	for i := range p.stored.Previous {
		if p.stored.Previous[i].GraceFrom.IsZero() {
			p.stored.Previous[i].GraceFrom = p.now
		}
	}
}

// retire drops the passwords whose grace is over. While a still newer one is spreading they go all
// the same: every member has accepted the one after them.
func (p *planner) retire() {
	p.stored.Previous = slices.DeleteFunc(p.stored.Previous, func(e Entry) bool {
		over := !e.GraceFrom.IsZero() && !p.now.Before(e.GraceFrom.Add(p.in.Grace))
		if over {
			p.transitions = append(p.transitions, TransitionRetired)
		}
		return over
	})
}

func (p *planner) result(invalid error) (Result, error) {
	same, err := p.stored.equal(p.in.Stored)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Stored:      p.stored,
		Changed:     !same,
		Accepted:    p.stored.accepted(),
		Secret:      p.restored,
		Transitions: p.transitions,
	}
	r.Phase, r.Message = p.phase(invalid)
	for _, e := range p.stored.Previous {
		if e.GraceFrom.IsZero() {
			continue
		}
		if left := e.GraceFrom.Add(p.in.Grace).Sub(p.now); r.WakeAfter == 0 || left < r.WakeAfter {
			r.WakeAfter = left
		}
	}
	return r, nil
}

func (p *planner) phase(invalid error) (Phase, string) {
	current := p.stored.Current
	switch {
	case invalid != nil && current == nil:
		return PhaseSecretInvalid, fmt.Sprintf("Secret %q %s.", p.in.SecretName, invalid)
	case invalid != nil:
		return PhaseSecretInvalid, fmt.Sprintf("Secret %q %s. The passwords known before stay valid.", p.in.SecretName, invalid)
	case current.AppliedAt.IsZero() && len(p.stored.Previous) == 0:
		return PhaseSpreading, "The password is being made known to the members."
	case current.AppliedAt.IsZero():
		return PhaseSpreading, "The new password is being made known to the members; an older one stays valid."
	case len(p.stored.Previous) > 0:
		return PhaseGrace, "Every member accepts the new password; an older one stays valid for the grace period."
	default:
		return PhaseSettled, "Every member accepts the password."
	}
}

// clone keeps the input's pointers and slices out of reach.
func (s Stored) clone() Stored {
	s.Previous = slices.Clone(s.Previous)
	if s.Current != nil {
		current := *s.Current
		s.Current = &current
	}
	return s
}
