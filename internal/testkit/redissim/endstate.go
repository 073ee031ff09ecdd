package redissim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/apistore"
)

// EndState renders all objects and all members, one line for each leaf. Names that differ between two
// runs by nature (UIDs, addresses, versions, times, secret content) are replaced by what they belong to.
func (w *World) EndState() ([]string, error) {
	objects := w.Store.Objects()
	names := w.names(objects)
	var lines []string
	for key, o := range objects {
		b, err := json.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key.Name, err)
		}
		var content map[string]any
		if err := json.Unmarshal([]byte(names.Replace(string(b))), &content); err != nil {
			return nil, fmt.Errorf("decode %s: %w", key.Name, err)
		}
		forget(content)
		if _, secret := o.(*corev1.Secret); secret {
			content["data"] = slices.Sorted(maps.Keys(o.(*corev1.Secret).Data))
		}
		lines = append(lines, leaves(key.Kind.Kind+" "+key.Name.Name, content)...)
	}
	for _, a := range w.inOrder() {
		if !a.gone {
			lines = append(lines, names.Replace(a.describe()))
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// names replaces what is numbered by what it belongs to.
func (w *World) names(objects map[apistore.Key]client.Object) *strings.Replacer {
	var pairs []string
	for key, o := range objects {
		pairs = append(pairs, string(o.GetUID()), "<uid of "+key.Kind.Kind+" "+key.Name.Name+">")
	}
	for _, a := range w.inOrder() {
		pairs = append(pairs, a.ip, "<address of "+a.pod+">")
		if a.server != nil {
			pairs = append(pairs, a.server.replID, "<lineage of the primary>")
		}
	}
	return longestFirst(pairs)
}

// longestFirst keeps a name from being found inside a longer one.
func longestFirst(pairs []string) *strings.Replacer {
	byName := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		byName[pair[0]] = pair[1]
	}
	sorted := slices.SortedFunc(maps.Keys(byName), func(a, b string) int { return len(b) - len(a) })
	var out []string
	for _, name := range sorted {
		out = append(out, name, byName[name])
	}
	return strings.NewReplacer(out...)
}

// forget drops what counts or tells the time.
func forget(content map[string]any) {
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, name := range []string{"resourceVersion", "creationTimestamp", "managedFields", "uid"} {
			delete(metadata, name)
		}
	}
	status, ok := content["status"].(map[string]any)
	if !ok {
		return
	}
	if list, ok := status["conditions"].([]any); ok {
		for _, c := range list {
			if condition, ok := c.(map[string]any); ok {
				delete(condition, "lastTransitionTime")
			}
		}
	}
}

// leaves lists every value below a place.
func leaves(at string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		var out []string
		for name, below := range v {
			out = append(out, leaves(at+"."+name, below)...)
		}
		return out
	case []any:
		var out []string
		for i, below := range v {
			out = append(out, leaves(fmt.Sprintf("%s[%d]", at, i), below)...)
		}
		return out
	}
	return []string{fmt.Sprintf("%s = %v", at, v)}
}

// describe says what an agent and its server are, without what only counts.
func (a *agent) describe() string {
	out := fmt.Sprintf("member %s: %s, applied %t, error %q, fenced %t, stopping %t, killed %t", a.pod, a.phase, a.digest != "",
		a.assignmentError, a.fenced, a.stopping, a.killedEpoch > 0)
	if s := a.server; s != nil {
		out += fmt.Sprintf(", primary %t, follows %q %s, passwords %d, parameters %v, started from data %t",
			s.isPrimary, s.following, s.link, len(s.passwords), s.parameters, s.stored != nil)
	}
	return out
}
