package main

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestSpreadIsMedianAndWorst(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	cases := map[string]struct {
		values        []time.Duration
		median, worst int64
	}{
		"odd":     {[]time.Duration{30 * ms, 10 * ms, 20 * ms}, 20, 30},
		"even":    {[]time.Duration{40 * ms, 10 * ms, 20 * ms, 30 * ms}, 25, 40},
		"one":     {[]time.Duration{7 * ms}, 7, 7},
		"nothing": {nil, 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := spreadOf(c.values)
			if got.Median != c.median || got.Worst != c.worst || got.Runs != len(c.values) {
				t.Errorf("got %+v, want median %d and worst %d", got, c.median, c.worst)
			}
		})
	}
}

func TestSpreadOfNothingIsNotZero(t *testing.T) {
	t.Parallel()
	if text := spreadOf(nil).median(); text != "not measured" {
		t.Errorf("got %q", text)
	}
}

func TestNewestTimelineOfTheClusterIsTaken(t *testing.T) {
	t.Parallel()
	log := []byte(`not JSON
{"msg":"failover timeline","namespace":"a","name":"c","detectedMs":1,"promotedMs":20}
{"msg":"failover timeline","namespace":"other","name":"c","detectedMs":99}
{"msg":"something else","namespace":"a","name":"c","detectedMs":98}
{"msg":"failover timeline","namespace":"a","name":"c","detectedMs":2,"storedMs":5,"promotedMs":30}
`)
	got := parseTimeline(log, types.NamespacedName{Namespace: "a", Name: "c"})
	if want := map[string]int64{"detected": 2, "stored": 5, "promoted": 30}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := parseTimeline(log, types.NamespacedName{Namespace: "a", Name: "d"}); got != nil {
		t.Errorf("a timeline of another cluster was taken: %v", got)
	}
}

func TestPhasesKeepTheirOrderAndLeaveOutWhatWasNotSeen(t *testing.T) {
	t.Parallel()
	got := phasesOf([]map[string]int64{{"attached": 30, "detected": 1}, {"attached": 50, "detected": 3}, {"attached": 40}})
	want := []phase{{Name: "detected", Median: 3, Worst: 3}, {Name: "attached", Median: 40, Worst: 50}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestErrorsOfClientsAreShortened(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"dial tcp 10.0.0.1:6379: connect: connection refused":      "connection refused",
		"NOREPLICAS Not enough good replicas to write.":            "NOREPLICAS Not enough good",
		"read tcp 10.0.0.1:5->10.0.0.2:6379: i/o timeout":          "i/o timeout",
		"sign in: read tcp 10.0.0.1:5->10.0.0.2:6379: i/o timeout": "sign in: read tcp",
	}
	for text, want := range cases {
		if got := firstWords(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
