package desired

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Metadata is what a user adds to the pods of a cluster.
type Metadata struct {
	Labels      map[string]string
	Annotations map[string]string
	// Keys is the value of naming.AnnotationMetadataKeys: which of a pod's keys are these.
	Keys string
}

type metadataKeys struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// NewMetadata takes the user's labels and annotations without those that belong to the operator
// or to Kubernetes: admission refuses them, and this does again, since admission can be bypassed.
func NewMetadata(labels, annotations map[string]string) (Metadata, error) {
	m := Metadata{Labels: usersOwn(labels), Annotations: usersOwn(annotations)}
	b, err := json.Marshal(metadataKeys{
		Labels:      slices.Sorted(maps.Keys(m.Labels)),
		Annotations: slices.Sorted(maps.Keys(m.Annotations)),
	})
	if err != nil {
		return Metadata{}, fmt.Errorf("encode keys of pod metadata: %w", err)
	}
	m.Keys = string(b)
	return m, nil
}

func usersOwn(in map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range in {
		reserved := strings.HasPrefix(k, naming.Prefix) || strings.HasPrefix(k, "app.kubernetes.io/") ||
			k == "controller-revision-hash" || strings.HasPrefix(k, "statefulset.kubernetes.io/") || strings.HasPrefix(k, "apps.kubernetes.io/")
		if !reserved {
			out[k] = v
		}
	}
	return out
}

// Relabelling is a change of a running pod's labels and annotations. A nil value removes the key.
type Relabelling struct {
	Labels      map[string]*string
	Annotations map[string]*string
}

// Empty says whether nothing is to be changed.
func (r Relabelling) Empty() bool { return len(r.Labels) == 0 && len(r.Annotations) == 0 }

// PodLabels is what a running pod carries.
type PodLabels struct {
	Labels      map[string]string
	Annotations map[string]string
}

// Relabel returns what to change on a running pod so that it carries the user's metadata and the
// operator's own labels (a nil value: the label must be absent). Keys that the user took back are removed; keys of
// third parties are left alone.
func Relabel(live PodLabels, want Metadata, own map[string]*string) Relabelling {
	r := Relabelling{Labels: map[string]*string{}, Annotations: map[string]*string{}}
	// What cannot be read names no key: then nothing is removed, and the annotation is written anew.
	var before metadataKeys
	if err := json.Unmarshal([]byte(live.Annotations[naming.AnnotationMetadataKeys]), &before); err != nil {
		before = metadataKeys{}
	}
	difference(r.Labels, live.Labels, before.Labels, want.Labels)
	difference(r.Annotations, live.Annotations, before.Annotations, want.Annotations)
	if live.Annotations[naming.AnnotationMetadataKeys] != want.Keys {
		keys := want.Keys
		r.Annotations[naming.AnnotationMetadataKeys] = &keys
	}
	for k, v := range own {
		is, present := live.Labels[k]
		if v == nil && present || v != nil && (!present || is != *v) {
			r.Labels[k] = v
		}
	}
	return r
}

func difference(into map[string]*string, live map[string]string, before []string, want map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(usersOwnKeys(before))) {
		if _, wanted := want[k]; !wanted {
			if _, present := live[k]; present {
				into[k] = nil
			}
		}
	}
	for k, v := range want {
		if is, present := live[k]; !present || is != v {
			value := v
			into[k] = &value
		}
	}
}

// usersOwnKeys guards against an annotation that was edited to make us remove our own labels.
func usersOwnKeys(keys []string) map[string]string {
	set := make(map[string]string, len(keys))
	for _, k := range keys {
		set[k] = ""
	}
	return usersOwn(set)
}
