package apistore

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Types are the kinds that stores know. One value serves any number of stores.
type Types struct {
	scheme    *runtime.Scheme
	converter managedfields.TypeConverter

	mu       sync.Mutex
	managers map[schema.GroupVersionKind]*managedfields.FieldManager
}

// NewTypes makes Types for a scheme. Kinds of Kubernetes itself can be applied, others only be
// created, patched and deleted.
func NewTypes(scheme *runtime.Scheme) (*Types, error) {
	builtIn := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(builtIn); err != nil {
		return nil, fmt.Errorf("list the kinds of Kubernetes: %w", err)
	}
	return &Types{
		scheme:    scheme,
		converter: applyconfigurations.NewTypeConverter(builtIn),
		managers:  map[schema.GroupVersionKind]*managedfields.FieldManager{},
	}, nil
}

func (t *Types) kindOf(o runtime.Object) (schema.GroupVersionKind, error) {
	gvk, err := apiutil.GVKForObject(o, t.scheme)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("find the kind of %T: %w", o, err)
	}
	return gvk, nil
}

// fieldManager keeps track of who owns which field of a kind.
func (t *Types) fieldManager(gvk schema.GroupVersionKind) (*managedfields.FieldManager, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.managers[gvk]; m != nil {
		return m, nil
	}
	m, err := managedfields.NewDefaultFieldManager(
		t.converter, t.scheme, noDefaults{}, t.scheme, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return nil, fmt.Errorf("make a field manager of %s: %w", gvk.Kind, err)
	}
	t.managers[gvk] = m
	return m, nil
}

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}
