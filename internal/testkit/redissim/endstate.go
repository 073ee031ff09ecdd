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

// EndState renders all objects and all members, one line for each leaf. What differs between two runs
// by nature (UIDs, addresses, versions, times, secret content) is replaced by what it belongs to, and
// pods are named by their roles: which member leads may depend on whom the manager heard first.
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
		lines = append(lines, leaves(key.Kind.Kind+" "+names.Replace(key.Name.Name), content)...)
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
	roles := w.roles()
	for pod, role := range roles {
		pairs = append(pairs, pod, "<"+role+">", fmt.Sprintf("node-%d", ordinalOf(pod)), "<node of "+role+">")
	}
	for key, o := range objects {
		name := key.Name.Name
		if role, isPod := roles[name]; isPod {
			name = role
		}
		pairs = append(pairs, string(o.GetUID()), "<uid of "+key.Kind.Kind+" "+name+">")
	}
	for _, a := range w.inOrder() {
		pairs = append(pairs, a.ip, "<address of "+roles[a.pod]+">")
		if a.server != nil {
			pairs = append(pairs, a.server.replID, "<lineage of the primary>")
		}
	}
	return longestFirst(pairs)
}

// roles names the pods by what they are: the primary, and the replicas by their order.
func (w *World) roles() map[string]string {
	all := w.inOrder()
	slices.SortFunc(all, func(a, b *agent) int { return ordinalOf(a.pod) - ordinalOf(b.pod) })
	out := map[string]string{}
	for _, a := range all {
		switch {
		case a.gone:
		case a.server != nil && a.server.isPrimary:
			out[a.pod] = "primary"
		default:
			out[a.pod] = fmt.Sprintf("replica %d", len(out)+1)
		}
	}
	replicas := 0
	for _, a := range all {
		if out[a.pod] != "" && out[a.pod] != "primary" {
			replicas++
			out[a.pod] = fmt.Sprintf("replica %d", replicas)
		}
	}
	return out
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
	delete(status, "epoch")
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
			out = append(out, leaves(fmt.Sprintf("%s[%s]", at, itemKey(i, below)), below)...)
		}
		return out
	}
	return []string{fmt.Sprintf("%s = %v", at, v)}
}

// itemKey names an item of a list by itself where it can be, so that its place does not matter.
func itemKey(i int, item any) string {
	switch v := item.(type) {
	case string:
		return v
	case map[string]any:
		if name, ok := v["name"].(string); ok {
			return name
		}
		if target, ok := v["targetRef"].(map[string]any); ok {
			return fmt.Sprint(target["name"])
		}
	}
	return fmt.Sprint(i)
}

// describe says what an agent and its server are, without what only counts.
func (a *agent) describe() string {
	out := fmt.Sprintf("member %s: %s, applied %t, error %q, fenced %t, stopping %t, killed %t", a.pod, a.phase, a.digest != "",
		a.assignmentError, a.fenced, a.stopping, a.killedEpoch > 0)
	if s := a.server; s != nil {
		out += fmt.Sprintf(", primary %t, follows %q %s, passwords %d, parameters %v",
			s.isPrimary, s.following, s.link, len(s.passwords), s.parameters)
	}
	return out
}
