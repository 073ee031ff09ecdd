package rollout_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/rollout"
)

func TestDiffSaysWhatChanged(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		live, wanted rollout.Parts
		want         []rollout.Reason
	}{
		"the same": {
			rollout.Parts{"image": "redis:8.0"}, rollout.Parts{"image": "redis:8.0"}, nil,
		},
		"another value": {
			rollout.Parts{"image": "redis:8.0.5"}, rollout.Parts{"image": "redis:8.0.6"}, []rollout.Reason{"image redis:8.0.5 → redis:8.0.6"},
		},
		"a fixed part that was empty": {
			rollout.Parts{"resources": ""}, rollout.Parts{"resources": "limits memory 1Gi"}, []rollout.Reason{"resources none → limits memory 1Gi"},
		},
		"a fixed part that an older operator did not record (I10)": {
			rollout.Parts{"image": "a"}, rollout.Parts{"image": "a", "shape": "round"}, nil,
		},
		"a fixed part that only a newer operator knows (I10)": {
			rollout.Parts{"image": "a", "shape": "round"}, rollout.Parts{"image": "a"}, nil,
		},
		"a parameter set for the first time": {
			rollout.Parts{"image": "a"}, rollout.Parts{"image": "a", "config databases": "32"}, []rollout.Reason{"config databases default → 32"},
		},
		"a parameter taken back": {
			rollout.Parts{"config databases": "32"}, rollout.Parts{}, []rollout.Reason{"config databases 32 → default"},
		},
		"several changes, in order": {
			rollout.Parts{"image": "a", "config b": "1"}, rollout.Parts{"image": "b", "config b": "2", "config a": "1"},
			[]rollout.Reason{"config a default → 1", "config b 1 → 2", "image a → b"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := rollout.Diff(c.live, c.wanted); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAPodWithoutAReadableRecordIsOutdated(t *testing.T) {
	t.Parallel()
	for name, annotation := range map[string]string{"absent": "", "null": "null", "damaged": `{"image":`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := rollout.Outdated(annotation, rollout.Parts{"image": "a"}); len(got) != 1 {
				t.Errorf("got %q", got)
			}
		})
	}
	if _, err := rollout.Decode(""); !errors.Is(err, rollout.ErrNoRecord) {
		t.Errorf("error is %v", err)
	}
}

func TestALongValueBecomesADigestThatStillTellsChanges(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500)
	a, b := rollout.Parts{}, rollout.Parts{}
	a.Set("affinity", long)
	b.Set("affinity", long+"y")
	if len(a["affinity"]) > 160 {
		t.Errorf("a value of %d bytes was kept", len(a["affinity"]))
	}
	if len(rollout.Diff(a, b)) != 1 {
		t.Error("a change behind the digest was not seen")
	}
}

func TestPartsSurviveTheirEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := rollout.Parts(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "parts"))
		text, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got := rollout.Outdated(text, p); len(got) != 0 {
			t.Fatalf("outdated at once: %q", got)
		}
	})
}
