package desired_test

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/naming"
)

type labels = map[string]string

func metadata(t *testing.T, l, a labels) desired.Metadata {
	t.Helper()
	m, err := desired.NewMetadata(l, a)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// relabelled returns what a pod carries after a change.
func relabelled(live desired.PodLabels, r desired.Relabelling) desired.PodLabels {
	set := func(now labels, change map[string]*string) labels {
		out := maps.Clone(now)
		if out == nil {
			out = labels{}
		}
		for k, v := range change {
			if v == nil {
				delete(out, k)
			} else {
				out[k] = *v
			}
		}
		return out
	}
	return desired.PodLabels{Labels: set(live.Labels, r.Labels), Annotations: set(live.Annotations, r.Annotations)}
}

func TestRelabel(t *testing.T) {
	t.Parallel()
	role := "primary"
	cases := map[string]struct {
		live desired.PodLabels
		want desired.Metadata
		own  map[string]*string
		got  labels
	}{
		"a label that the user adds": {
			desired.PodLabels{Labels: labels{"a": "1"}}, metadata(t, labels{"team": "x"}, nil), nil, labels{"a": "1", "team": "x"},
		},
		"a label that the user took back goes": {
			desired.PodLabels{Labels: labels{"team": "x"}, Annotations: labels{naming.AnnotationMetadataKeys: `{"labels":["team"]}`}},
			metadata(t, nil, nil), nil, labels{},
		},
		"a label of a third party stays": {
			desired.PodLabels{Labels: labels{"theirs": "x"}}, metadata(t, nil, nil), nil, labels{"theirs": "x"},
		},
		"a value that somebody changed comes back": {
			desired.PodLabels{Labels: labels{"team": "y"}}, metadata(t, labels{"team": "x"}, nil), nil, labels{"team": "x"},
		},
		"the role is set": {
			desired.PodLabels{}, metadata(t, nil, nil), map[string]*string{naming.LabelRole: &role}, labels{naming.LabelRole: "primary"},
		},
		"the role goes": {
			desired.PodLabels{Labels: labels{naming.LabelRole: "primary"}}, metadata(t, nil, nil), map[string]*string{naming.LabelRole: nil}, labels{},
		},
		"a forged record does not make us remove our own labels": {
			desired.PodLabels{
				Labels:      labels{naming.LabelCluster: "shop"},
				Annotations: labels{naming.AnnotationMetadataKeys: `{"labels":["db.holdfast.dev/cluster"]}`},
			}, metadata(t, nil, nil), nil, labels{naming.LabelCluster: "shop"},
		},
		"a record that cannot be read removes nothing": {
			desired.PodLabels{Labels: labels{"team": "x"}, Annotations: labels{naming.AnnotationMetadataKeys: `{`}},
			metadata(t, nil, nil), nil, labels{"team": "x"},
		},
		"labels that belong to us are not the user's to set": {
			desired.PodLabels{}, metadata(t, labels{"app.kubernetes.io/name": "x", naming.LabelRole: "primary", "statefulset.kubernetes.io/pod-name": "x"}, nil),
			nil, labels{},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := desired.Relabel(c.live, c.want, c.own)
			after := relabelled(c.live, change)
			if !maps.Equal(after.Labels, c.got) {
				t.Errorf("labels are %v, want %v", after.Labels, c.got)
			}
			if again := desired.Relabel(after, c.want, c.own); !again.Empty() {
				t.Errorf("a second change is wanted: %+v", again)
			}
		})
	}
}

// T15 of the targets: add, change, remove, for every map.
func TestAnyChainOfMetadataEndsInTheLastAndKeepsTheirs(t *testing.T) {
	t.Parallel()
	keys := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	sets := rapid.MapOf(keys, rapid.SampledFrom([]string{"1", "2"}))
	rapid.Check(t, func(t *rapid.T) {
		live := desired.PodLabels{Labels: labels{"theirs": "1"}, Annotations: labels{"theirs": "1"}}
		var last desired.Metadata
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			m, err := desired.NewMetadata(sets.Draw(t, "labels"), sets.Draw(t, "annotations"))
			if err != nil {
				t.Fatal(err)
			}
			last = m
			live = relabelled(live, desired.Relabel(live, m, nil))
		}
		if want := naming.With(labels{"theirs": "1"}, last.Labels); !maps.Equal(live.Labels, want) {
			t.Fatalf("labels are %v, want %v", live.Labels, want)
		}
		want := naming.With(labels{"theirs": "1", naming.AnnotationMetadataKeys: last.Keys}, last.Annotations)
		if !maps.Equal(live.Annotations, want) {
			t.Fatalf("annotations are %v, want %v", live.Annotations, want)
		}
	})
}
