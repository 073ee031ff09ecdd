package resources

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/rollout"
)

// Parts returns what a change of restarts the members, as the spec wants it.
//
// The agent's image is not among them: an upgrade of the operator restarts no database. Nor are
// labels and annotations of pods, nor parameters that a running server takes over. A part may
// only depend on the spec and on the restart annotation, never on a default of this operator's version.
func Parts(in Input) (rollout.Parts, error) {
	c := in.Cluster
	image, err := ServerImage(c, in.Images)
	if err != nil {
		return nil, err
	}
	parts := rollout.Parts{}
	parts.Set("image", image)
	parts.Set("resources", describeResources(c.Spec.Resources))
	parts.Set("restart asked at", c.Annotations[naming.AnnotationRestartedAt])
	if err := setScheduling(parts, c.Spec.Scheduling); err != nil {
		return nil, err
	}
	for name, value := range in.Config.RestartParameters() {
		parts.SetConfig(name, value)
	}
	return parts, nil
}

// setScheduling records what the user says about scheduling, not what the operator adds to it.
func setScheduling(parts rollout.Parts, s v1.SchedulingSpec) error {
	parts.Set("priority class", s.PriorityClassName)
	for name, field := range map[string]any{
		"affinity": s.Affinity, "node selector": s.NodeSelector, "tolerations": s.Tolerations, "topology spread": s.TopologySpreadConstraints,
	} {
		b, err := json.Marshal(field)
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		value := string(b)
		if value == "null" || value == "{}" || value == "[]" {
			value = ""
		}
		parts.Set(name, value)
	}
	return nil
}

// describeResources puts resources into words: "requests cpu 500m, memory 1Gi; limits memory 1Gi".
func describeResources(r corev1.ResourceRequirements) string {
	var words []string
	if len(r.Requests) > 0 {
		words = append(words, "requests "+describeList(r.Requests))
	}
	if len(r.Limits) > 0 {
		words = append(words, "limits "+describeList(r.Limits))
	}
	return strings.Join(words, "; ")
}

func describeList(list corev1.ResourceList) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		words = append(words, string(name)+" "+quantity.String())
	}
	return strings.Join(words, ", ")
}
