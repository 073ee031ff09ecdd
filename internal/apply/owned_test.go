package apply

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type ownedCase struct {
	// owned is what the API server records for our last apply.
	owned string
	live  string
	want  string
	same  bool
}

var ownedCases = map[string]ownedCase{
	"all as wanted": {
		`{"f:spec":{"f:type":{}}}`, `{"spec":{"type":"A"}}`, `{"spec":{"type":"A"}}`, true,
	},
	"names are owned by nobody": {
		`{"f:spec":{"f:type":{}}}`, `{"metadata":{"name":"n","uid":"u"},"spec":{"type":"A"}}`,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"n","namespace":"ns","uid":"u"},"spec":{"type":"A"}}`, true,
	},
	"a value that somebody changed": {
		`{"f:spec":{"f:type":{}}}`, `{"spec":{"type":"B"}}`, `{"spec":{"type":"A"}}`, false,
	},
	"a field that somebody removed": {
		`{"f:spec":{"f:type":{}}}`, `{"spec":{}}`, `{"spec":{"type":"A"}}`, false,
	},
	"a field that somebody took over, though with our value": {
		`{"f:spec":{"f:size":{}}}`, `{"spec":{"type":"A","size":1}}`, `{"spec":{"type":"A","size":1}}`, false,
	},
	"a field that is wanted no more": {
		`{"f:metadata":{"f:annotations":{"f:a":{},"f:b":{}}}}`, `{"metadata":{"annotations":{"a":"1","b":"1"}}}`,
		`{"metadata":{"annotations":{"a":"1"}}}`, false,
	},
	"the last entry of a map is wanted no more": {
		`{"f:metadata":{"f:annotations":{"f:a":{}},"f:labels":{"f:l":{}}}}`, `{"metadata":{"annotations":{"a":"1"},"labels":{"l":"1"}}}`,
		`{"metadata":{"labels":{"l":"1"}}}`, false,
	},
	"what others added": {
		`{"f:spec":{"f:type":{}}}`, `{"spec":{"type":"A","theirs":1},"status":{"x":1}}`, `{"spec":{"type":"A"}}`, true,
	},
	"never applied by us": {``, `{"spec":{"type":"A"}}`, `{"spec":{"type":"A"}}`, false},
	"a list by key, in another order, with one of theirs": {
		`{"f:spec":{"f:ports":{"k:{\"port\":1}":{".":{},"f:name":{},"f:port":{}},"k:{\"port\":2}":{".":{},"f:name":{},"f:port":{}}}}}`,
		`{"spec":{"ports":[{"port":3,"name":"theirs"},{"port":2,"name":"b"},{"port":1,"name":"a","nodePort":9}]}}`,
		`{"spec":{"ports":[{"port":1,"name":"a"},{"port":2,"name":"b"}]}}`, true,
	},
	"an item of a list by key is gone": {
		`{"f:spec":{"f:ports":{"k:{\"port\":1}":{".":{},"f:port":{}},"k:{\"port\":2}":{".":{},"f:port":{}}}}}`,
		`{"spec":{"ports":[{"port":1}]}}`, `{"spec":{"ports":[{"port":1},{"port":2}]}}`, false,
	},
	"an item of a list by key is wanted no more": {
		`{"f:spec":{"f:ports":{"k:{\"port\":1}":{".":{},"f:port":{}},"k:{\"port\":2}":{".":{},"f:port":{}}}}}`,
		`{"spec":{"ports":[{"port":1},{"port":2}]}}`, `{"spec":{"ports":[{"port":1}]}}`, false,
	},
	"a field inside an item differs": {
		`{"f:spec":{"f:ports":{"k:{\"port\":1}":{".":{},"f:name":{},"f:port":{}}}}}`,
		`{"spec":{"ports":[{"port":1,"name":"x"}]}}`, `{"spec":{"ports":[{"port":1,"name":"a"}]}}`, false,
	},
	"a list by value": {
		`{"f:metadata":{"f:finalizers":{"v:\"ours\"":{}}}}`, `{"metadata":{"finalizers":["theirs","ours"]}}`,
		`{"metadata":{"finalizers":["ours"]}}`, true,
	},
	"a value of a list is gone": {
		`{"f:metadata":{"f:finalizers":{"v:\"ours\"":{}}}}`, `{"metadata":{"finalizers":["theirs"]}}`,
		`{"metadata":{"finalizers":["ours"]}}`, false,
	},
	"a list that is one value, empty on both sides": {
		`{"f:endpoints":{}}`, `{"endpoints":null}`, `{"endpoints":[]}`, true,
	},
	"a list that is one value, to be emptied": {
		`{"f:endpoints":{}}`, `{"endpoints":[{"addresses":["10.0.0.1"]}]}`, `{"endpoints":[]}`, false,
	},
	"a list that is one value, in another order": {
		`{"f:args":{}}`, `{"args":["b","a"]}`, `{"args":["a","b"]}`, false,
	},
	"an empty map that means something": {
		`{"f:volumes":{"k:{\"name\":\"v\"}":{".":{},"f:emptyDir":{},"f:name":{}}}}`,
		`{"volumes":[{"name":"v","emptyDir":{}}]}`, `{"volumes":[{"name":"v","emptyDir":{}}]}`, true,
	},
	"a map where a value stood": {
		`{"f:spec":{"f:a":{"f:b":{}}}}`, `{"spec":{"a":"text"}}`, `{"spec":{"a":{"b":1}}}`, false,
	},
}

func TestUpToDate(t *testing.T) {
	t.Parallel()
	for name, c := range ownedCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var owned *fieldpath.Set
			if c.owned != "" {
				owned = &fieldpath.Set{}
				if err := owned.FromJSON(strings.NewReader(c.owned)); err != nil {
					t.Fatal(err)
				}
			}
			if got := upToDate(owned, decode(t, c.live), decode(t, c.want)); got != c.same {
				t.Errorf("got %t, want %t", got, c.same)
			}
		})
	}
}

func TestUpToDateLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	want := decode(t, `{"apiVersion":"v1","metadata":{"name":"n","labels":{"a":"b"}}}`)
	owned := &fieldpath.Set{}
	if err := owned.FromJSON(strings.NewReader(`{"f:metadata":{"f:labels":{"f:a":{}}}}`)); err != nil {
		t.Fatal(err)
	}
	upToDate(owned, map[string]any{}, want)
	if metadata, ok := want["metadata"].(map[string]any); !ok || metadata["name"] != "n" || want["apiVersion"] != "v1" {
		t.Errorf("left %v", want)
	}
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
