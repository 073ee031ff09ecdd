package apply

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// ownedFields returns what our last apply owns of an object. An object that we never applied gives nil.
func ownedFields(entries []metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	for _, e := range entries {
		if e.Manager != naming.FieldOwner || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("read managed fields: %w", err)
		}
		return set, nil
	}
	return nil, nil
}

// upToDate says whether applying want would change nothing: every wanted field is owned by us and
// has the wanted value, and every field that we own is wanted.
//
// The owned set says how lists are keyed, so no schema is needed.
func upToDate(owned *fieldpath.Set, live, want map[string]any) bool {
	if owned == nil {
		return false
	}
	return sameFields(owned, live, withoutIdentity(want))
}

// withoutIdentity leaves out what names an object, which is owned by nobody.
func withoutIdentity(want map[string]any) map[string]any {
	content := maps.Clone(want)
	delete(content, "apiVersion")
	delete(content, "kind")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, name := range []string{"name", "namespace", "uid"} {
			delete(metadata, name)
		}
		content["metadata"] = metadata
		if len(metadata) == 0 {
			delete(content, "metadata")
		}
	}
	return content
}

// same compares one place in the tree, of which we own what is in owned; nil: all of it.
func same(owned *fieldpath.Set, live, want any) bool {
	if owned == nil || owned.Empty() {
		return equalValues(live, want)
	}
	switch want := want.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		return ok && sameFields(owned, live, want)
	case []any:
		live, ok := live.([]any)
		return ok && sameItems(owned, live, want)
	default:
		return false
	}
}

func sameFields(owned *fieldpath.Set, live, want map[string]any) bool {
	for name, wanted := range want {
		if wanted == nil {
			continue
		}
		element := fieldpath.PathElement{FieldName: &name}
		below, deep := owned.Children.Get(element)
		if !deep && !owned.Members.Has(element) {
			return false
		}
		if !same(below, live[name], wanted) {
			return false
		}
	}
	for _, e := range elements(owned) {
		if e.FieldName == nil || want[*e.FieldName] == nil {
			return false
		}
	}
	return true
}

// sameItems compares the items of a list that is merged by key or value.
func sameItems(owned *fieldpath.Set, live, want []any) bool {
	keys := elements(owned)
	if len(keys) != len(want) {
		return false
	}
	for _, item := range want {
		key := slices.IndexFunc(keys, func(e fieldpath.PathElement) bool { return matches(e, item) })
		if key < 0 {
			return false
		}
		element := keys[key]
		at := slices.IndexFunc(live, func(l any) bool { return matches(element, l) })
		if at < 0 {
			return false
		}
		below, _ := owned.Children.Get(element)
		if !same(below, live[at], item) {
			return false
		}
	}
	return true
}

func matches(e fieldpath.PathElement, item any) bool {
	switch {
	case e.Value != nil:
		return value.Equals(*e.Value, value.NewValueInterface(item))
	case e.Key != nil:
		fields, ok := item.(map[string]any)
		if !ok {
			return false
		}
		for _, k := range *e.Key {
			if !value.Equals(k.Value, value.NewValueInterface(fields[k.Name])) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// elements lists what is owned directly below a place, each once.
func elements(owned *fieldpath.Set) []fieldpath.PathElement {
	var out []fieldpath.PathElement
	for e := range owned.Members.All() {
		if _, deep := owned.Children.Get(e); !deep {
			out = append(out, e)
		}
	}
	for e := range owned.Children.All() {
		out = append(out, e)
	}
	return out
}

// withoutClaimKinds removes the kind of claim templates, which some versions of the API server fill in and others drop.
func withoutClaimKinds(content map[string]any) {
	spec, ok := content["spec"].(map[string]any)
	if !ok {
		return
	}
	templates, ok := spec["volumeClaimTemplates"].([]any)
	if !ok {
		return
	}
	for _, t := range templates {
		if template, ok := t.(map[string]any); ok {
			delete(template, "apiVersion")
			delete(template, "kind")
		}
	}
}

// equalValues compares a value that is owned as a whole. An empty list and none are the same to the API server.
func equalValues(live, want any) bool {
	if l, ok := want.([]any); ok && len(l) == 0 {
		ll, isList := live.([]any)
		return live == nil || isList && len(ll) == 0
	}
	return reflect.DeepEqual(live, want)
}
