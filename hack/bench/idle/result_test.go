package idle_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/hack/bench/idle"
)

// quiet is a point that keeps every promise.
func quiet() idle.Point {
	return idle.Point{Clusters: 100, Agents: 300, HeartbeatsPerSecond: 588, PassesPerClusterMinute: 1}
}

func TestBrokenPromisesAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*idle.Point)
		want   string
	}{
		"a quiet manager":          {func(*idle.Point) {}, ""},
		"leases and events":        {func(p *idle.Point) { p.Requests.Leases, p.Requests.Events = 30, 2 }, ""},
		"a write":                  {func(p *idle.Point) { p.Requests.Writes, p.Requests.Which = 1, map[string]int{"patch pods": 1} }, "1 writes to the API server: map[patch pods:1]"},
		"streams that do not live": {func(p *idle.Point) { p.HeartbeatsPerSecond = 300 }, "300 heartbeats a second were answered, of 600"},
		"a hot loop":               {func(p *idle.Point) { p.PassesPerClusterMinute = 40 }, "40.0 passes per cluster and minute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := quiet()
			c.change(&p)
			got := strings.Join(idle.Result{Points: []idle.Point{p}}.Problems(), "; ")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEachPointIsARowUnderTheHeader(t *testing.T) {
	t.Parallel()
	rows := idle.Result{Points: []idle.Point{quiet(), quiet()}}.Rows()
	if len(rows) != 2 || len(rows[0]) != len(idle.Header()) {
		t.Errorf("%d rows of %d columns under a header of %d", len(rows), len(rows[0]), len(idle.Header()))
	}
}
