package chaos_test

import "testing"

func TestSameSeedPlansTheSame(t *testing.T) {
	t.Parallel()
	a, b, other := newPlanner(7), newPlanner(7), newPlanner(8)
	differs := false
	for range 50 {
		x, y, z := a.next(), b.next(), other.next()
		if x.kind.name != y.kind.name || x.holds != y.holds || x.replica != y.replica {
			t.Fatalf("one seed planned %q for %s and %q for %s", x.kind.name, x.holds, y.kind.name, y.holds)
		}
		differs = differs || x.kind.name != z.kind.name
	}
	if !differs {
		t.Error("another seed planned the same 50 faults")
	}
}

func TestEveryKindIsPlanned(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	p := newPlanner(1)
	for range 1000 {
		seen[p.next().kind.name] = true
	}
	for _, k := range kinds() {
		if !seen[k.name] {
			t.Errorf("%q was never planned in 1000 draws", k.name)
		}
	}
}
