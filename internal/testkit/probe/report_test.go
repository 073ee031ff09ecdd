package probe_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/probe"
)

// at is a confirmed write to a server, in milliseconds.
func at(instance string, call, ret int) probe.Sample {
	return probe.Sample{Member: instance, Instance: instance, Call: time.Duration(call) * time.Millisecond,
		Return: time.Duration(ret) * time.Millisecond, Claims: true, Confirmed: true}
}

func refused(s probe.Sample) probe.Sample { s.Confirmed = false; return s }

func replica(s probe.Sample) probe.Sample { s.Confirmed, s.Claims = false, false; return s }

func TestOverlapsAreFoundAndSuccessionIsNone(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		samples         []probe.Sample
		claims, effects int
	}{
		"one primary after the other": {
			[]probe.Sample{at("a", 0, 1), at("a", 100, 101), replica(at("b", 100, 101)), at("b", 200, 201), replica(at("a", 200, 201)), at("b", 300, 301)}, 0, 0},
		"both confirm in turn": {
			[]probe.Sample{at("a", 0, 1), at("b", 50, 51), at("a", 100, 101), at("b", 150, 151)}, 1, 1},
		"the old one claims and has no effect": {
			[]probe.Sample{at("a", 0, 1), refused(at("a", 100, 101)), at("b", 100, 101), refused(at("a", 200, 201)), at("b", 200, 201)}, 1, 0},
		"a slow answer of the old one is no proof": {
			[]probe.Sample{at("a", 0, 1), at("a", 100, 300), at("b", 200, 201), at("b", 300, 301)}, 0, 0},
		"the role comes back later": {
			[]probe.Sample{at("a", 0, 1), at("b", 1000, 1001), at("b", 1100, 1101), at("a", 2000, 2001), at("a", 2100, 2101)}, 0, 0},
		"the same server restarted": {
			[]probe.Sample{at("a", 0, 1), at("a", 100, 101), at("a'", 200, 201), at("a'", 300, 301)}, 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := probe.Report{Samples: c.samples}
			if len(r.Claims()) != c.claims || len(r.Effects()) != c.effects || (r.Err() == nil) != (c.effects == 0) {
				t.Errorf("claims %v, effects %v, error %v; want %d and %d", r.Claims(), r.Effects(), r.Err(), c.claims, c.effects)
			}
		})
	}
}

func TestTwoEndpointsBehindThePrimaryServiceAreAViolation(t *testing.T) {
	t.Parallel()
	good := probe.Report{Routings: []probe.Routing{{Pods: []string{"a"}}, {}, {Pods: []string{"b"}}}}
	bad := probe.Report{Routings: append(good.Routings, probe.Routing{Pods: []string{"a", "b"}})}
	if good.Err() != nil || bad.Err() == nil {
		t.Errorf("good: %v, bad: %v", good.Err(), bad.Err())
	}
}
