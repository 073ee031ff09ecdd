package topology_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis/topology"
	. "github.com/holdfast-dev/holdfast/internal/testkit/redisstate"
)

// A manager that has just taken over has heard nobody yet. It must not take that for an answer.
func TestANewManagerWaitsToHearBeforeItChangesCourse(t *testing.T) {
	t.Parallel()
	unheard := func(s *topology.State) {
		s.WatchedFor = 0
		for i := range s.Members {
			s.Members[i].Agent, s.Members[i].Link = nil, topology.Link{}
		}
	}
	cases := map[string]struct {
		change Change
		state  topology.Name
	}{
		"a hand-over goes on as one":               {HandingOver(0, 1, 2), topology.HandingOver},
		"a failover is not called blocked":         {FailingOver(0, 2), topology.FailingOver},
		"the first election is not called blocked": {Bootstrapping(2), topology.Bootstrapping},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Settled(3, c.change)
			unheard(&s)
			d := topology.Decide(s)
			if d.State != c.state {
				t.Errorf("the state is %s, want %s: %s", d.State, c.state, d.Why)
			}
			for _, step := range d.Steps {
				if step.Store != nil || step.Announce != nil {
					t.Errorf("it already decides: %v", Words(d))
				}
			}
			for i := range s.Members {
				s.Members[i].Link.Silent = time.Minute
			}
			if late := topology.Decide(s); late.State == c.state && c.state != topology.HandingOver {
				t.Errorf("after a minute without a word it still is %s", late.State)
			}
		})
	}
}
