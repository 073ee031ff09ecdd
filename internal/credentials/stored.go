package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
)

// Keys of a cluster's internal Secret.
const (
	// KeyReplication: the password with which replicas sign in at their primary.
	KeyReplication = "replication"
	// KeyApplication: the application's password as it stands in the generated Secret, so that the
	// Secret comes back unchanged when it was deleted. Absent if the Secret is the user's own.
	KeyApplication = "application"
	// KeyPasswords: the digests of the application's passwords with their times, as JSON.
	KeyPasswords = "passwords"
)

// maxAccepted bounds how many passwords are accepted at a time.
const maxAccepted = 3

// Stored is what the internal Secret holds.
type Stored struct {
	// Replication password.
	Replication string
	// Application is the application's password if its Secret is generated.
	Application string
	// Current password, nil before the first.
	Current *Entry
	// Previous passwords that are still accepted, the latest first.
	Previous []Entry
}

// Entry is a password of the application by its digest.
type Entry struct {
	// Hash as Hash makes it.
	Hash string `json:"hash"`
	// Since it was first seen in the Secret.
	Since time.Time `json:"since"`
	// AppliedAt is when every member accepted it; zero: not yet, or never while it was current.
	AppliedAt time.Time `json:"appliedAt,omitzero"`
	// GraceFrom of a previous password is when every member accepted one that came after it; zero:
	// not yet.
	GraceFrom time.Time `json:"graceFrom,omitzero"`
}

// passwords is the JSON under KeyPasswords.
type passwords struct {
	Current  *Entry  `json:"current,omitempty"`
	Previous []Entry `json:"previous,omitempty"`
}

var hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Decode reads the data of the internal Secret. It returns what can be used, beside an error that
// says what could not: the plan heals the rest.
func Decode(data map[string][]byte) (Stored, error) {
	var problems []error
	s := Stored{
		Replication: decodeSecret(data, KeyReplication, &problems),
		Application: decodeSecret(data, KeyApplication, &problems),
	}
	encoded, ok := data[KeyPasswords]
	if !ok {
		return s, errors.Join(problems...)
	}
	var p passwords
	if err := json.Unmarshal(encoded, &p); err != nil {
		problems = append(problems, fmt.Errorf("key %s of the internal Secret: %w", KeyPasswords, err))
		return s, errors.Join(problems...)
	}
	if p.Current != nil && hexDigest.MatchString(p.Current.Hash) {
		s.Current = p.Current
	}
	for _, e := range p.Previous {
		if hexDigest.MatchString(e.Hash) && len(s.Previous) < maxAccepted-1 && !slices.Contains(s.accepted(), e.Hash) {
			s.Previous = append(s.Previous, e)
		}
	}
	if s.Current == nil || len(s.Previous) != len(p.Previous) {
		problems = append(problems, fmt.Errorf("key %s of the internal Secret has entries that are no digests, twice the same, or too many", KeyPasswords))
	}
	return s, errors.Join(problems...)
}

func decodeSecret(data map[string][]byte, key string, problems *[]error) string {
	value, ok := data[key]
	if !ok {
		return ""
	}
	if err := checkPassword(value); err != nil {
		*problems = append(*problems, fmt.Errorf("key %s of the internal Secret holds no usable password", key))
		return ""
	}
	return string(value)
}

// Encode writes the data of the internal Secret. The same Stored always gives the same bytes.
func (s Stored) Encode() (map[string][]byte, error) {
	data := map[string][]byte{}
	for key, value := range map[string]string{KeyReplication: s.Replication, KeyApplication: s.Application} {
		if value != "" {
			data[key] = []byte(value)
		}
	}
	if s.Current == nil && len(s.Previous) == 0 {
		return data, nil
	}
	encoded, err := json.Marshal(passwords{Current: s.Current, Previous: s.Previous})
	if err != nil {
		return nil, fmt.Errorf("encode passwords: %w", err)
	}
	data[KeyPasswords] = encoded
	return data, nil
}

// equal compares by what would be written.
func (s Stored) equal(o Stored) (bool, error) {
	a, err := s.Encode()
	if err != nil {
		return false, err
	}
	b, err := o.Encode()
	if err != nil {
		return false, err
	}
	return maps.EqualFunc(a, b, func(x, y []byte) bool { return string(x) == string(y) }), nil
}

// accepted are the digests that the members shall accept, the current first.
func (s Stored) accepted() []string {
	var hashes []string
	if s.Current != nil {
		hashes = append(hashes, s.Current.Hash)
	}
	for _, e := range s.Previous {
		hashes = append(hashes, e.Hash)
	}
	return hashes
}
