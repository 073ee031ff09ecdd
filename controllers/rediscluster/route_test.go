package rediscluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func sliceTo(version, uid string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: version},
		Endpoints:  []discoveryv1.Endpoint{{TargetRef: &corev1.ObjectReference{UID: types.UID(uid)}}},
	}
}

func TestTheRouteIsWhatWasWrittenUntilTheCacheHasShownIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		wrote memory
		slice *discoveryv1.EndpointSlice
		want  string
	}{
		"nothing was written by this manager: the cache tells": {memory{}, sliceTo("7", "a"), "a"},
		"nothing was written and there is no slice":            {memory{}, nil, ""},
		"the cache has not got what was written":               {memory{routedUID: "b", routedVersion: "9"}, nil, "b"},
		"the cache is behind what was written":                 {memory{routedUID: "b", routedVersion: "9"}, sliceTo("7", "a"), "b"},
		"the cache shows what was written":                     {memory{routedUID: "b", routedVersion: "9"}, sliceTo("9", "b"), "b"},
		"somebody changed it since":                            {memory{routedUID: "b", routedVersion: "9"}, sliceTo("10", "c"), "c"},
		"somebody deleted it since":                            {memory{routedUID: "b", routedVersion: "9", routedSeen: true}, nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pass{memory: &c.wrote, slice: c.slice}
			if got := p.routedUID(); got != c.want {
				t.Errorf("routed to %q, want %q", got, c.want)
			}
		})
	}
}
