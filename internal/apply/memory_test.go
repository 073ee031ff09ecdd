package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func seen(uid, version string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
}

func TestMemoryRecognisesAViewThatIsBehind(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		digest string
		live   *corev1.Service
		covers bool
	}{
		"what we wrote":                     {"d", seen("u", "10"), true},
		"a view from before our write":      {"d", seen("u", "9"), true},
		"a later version must be looked at": {"d", seen("u", "11"), false},
		"we want something else":            {"e", seen("u", "10"), false},
		"another object of the same name":   {"d", seen("v", "9"), false},
		"a version that cannot be compared": {"d", seen("u", "abc"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			key := memoryKey{owner: "o", name: "n"}
			m.store(task{key: key, digest: "d"}, seen("u", "10"))
			if got := m.covers(task{key: key, digest: c.digest}, c.live); got != c.covers {
				t.Errorf("got %t, want %t", got, c.covers)
			}
		})
	}
}

func TestForgettingAnOwnerForgetsAllOfIt(t *testing.T) {
	t.Parallel()
	m := newMemory()
	mine, theirs := task{key: memoryKey{owner: "a", name: "n"}, digest: "d"}, task{key: memoryKey{owner: "b", name: "n"}, digest: "d"}
	m.store(mine, seen("u", "1"))
	m.store(theirs, seen("v", "1"))
	m.forget("a")
	if m.wanted(mine) || !m.wanted(theirs) {
		t.Errorf("mine is remembered: %t, theirs: %t", m.wanted(mine), m.wanted(theirs))
	}
}
