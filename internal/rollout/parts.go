package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxReadable is the longest value that is kept in words; a longer one becomes a digest.
const maxReadable = 160

// configPrefix starts the names of parts that stand for configuration parameters.
const configPrefix = "config "

// Parts is what a change of needs a restart, by name. A part is either fixed, and then always
// recorded, even when empty; or a configuration parameter, recorded while it is set.
type Parts map[string]string

// Reason says why a member is outdated, for people: "image redis:8.0.5 → redis:8.0.6".
type Reason string

// ErrNoRecord: a pod does not say what it was made from.
var ErrNoRecord = errors.New("no record of what the pod was made from")

// Set records a fixed part.
func (p Parts) Set(name, value string) { p[name] = readable(value) }

// SetConfig records a configuration parameter that takes effect at a restart.
func (p Parts) SetConfig(parameter, value string) { p[configPrefix+parameter] = readable(value) }

func readable(value string) string {
	if len(value) <= maxReadable {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// Encode writes the parts as the value of an annotation. Equal parts give equal text.
func (p Parts) Encode() (string, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode restart parts: %w", err)
	}
	return string(b), nil
}

// Decode reads the value of an annotation. An absent one gives ErrNoRecord.
func Decode(annotation string) (Parts, error) {
	if annotation == "" {
		return nil, ErrNoRecord
	}
	var p Parts
	if err := json.Unmarshal([]byte(annotation), &p); err != nil {
		return nil, fmt.Errorf("decode restart parts: %w", err)
	}
	if p == nil {
		return nil, ErrNoRecord
	}
	return p, nil
}

// Diff returns why a pod made from live is outdated, sorted; nothing if it is current.
//
// A fixed part that live does not have was unknown to the operator that made the pod, and one
// that only live has is unknown to this operator: neither is a change by the user, so neither
// restarts anything. A configuration parameter is different: there, absent means not set.
func Diff(live, wanted Parts) []Reason {
	names := slices.Sorted(maps.Keys(wanted))
	for name := range live {
		if _, ok := wanted[name]; !ok && strings.HasPrefix(name, configPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var reasons []Reason
	for _, name := range names {
		was, had := live[name]
		want, set := wanted[name]
		if !had && !strings.HasPrefix(name, configPrefix) {
			continue
		}
		if had == set && was == want {
			continue
		}
		reasons = append(reasons, Reason(fmt.Sprintf("%s %s → %s", name, shown(was, had), shown(want, set))))
	}
	return reasons
}

// Outdated decodes the annotation of a pod and compares it. A pod without a record that can be read is
// outdated: nobody can say what it runs.
func Outdated(annotation string, wanted Parts) []Reason {
	live, err := Decode(annotation)
	if err != nil {
		return []Reason{Reason(err.Error())}
	}
	return Diff(live, wanted)
}

func shown(value string, set bool) string {
	switch {
	case !set:
		return "default"
	case value == "":
		return "none"
	default:
		return value
	}
}
