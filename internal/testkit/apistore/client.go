package apistore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Write is a request that writes.
type Write struct {
	// Verb of the request: create, apply, patch or delete; with /status for that subresource.
	Verb string
	Key  Key
	// UID that a delete demands; empty: none, and it takes whatever has the name.
	UID types.UID
}

func (w Write) String() string {
	return fmt.Sprintf("%s %s %s", w.Verb, w.Key.Kind.Kind, w.Key.Name.Name)
}

// Gate sees the writes of a client. Either function may be nil.
type Gate struct {
	// Before a write: an error is its answer, and nothing was written.
	Before func(Write) error
	// After a write that succeeded: an error is its answer all the same.
	After func(Write) error
}

// Client reads from a view, or from the store itself if it has none, and writes to the store.
type Client struct {
	store *Store
	from  source
	gate  Gate
}

var _ client.Client = &Client{}

var errUnsupported = errors.New("apistore does not support this request")

// Client makes a client that reads past every cache.
func (s *Store) Client() *Client { return &Client{store: s, from: s} }

// Cached makes a client that reads from a view.
func (s *Store) Cached(v *View, gate Gate) *Client { return &Client{store: s, from: v, gate: gate} }

// Get reads an object.
func (c *Client) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	gvk, err := c.store.types.kindOf(into)
	if err != nil {
		return err
	}
	key := Key{Kind: gvk, Name: name}
	live := c.from.get(key)
	if live == nil {
		return notFound(key)
	}
	return fill(into, copyOf(live))
}

// fill makes into what from is.
func fill(into, from client.Object) error {
	target, source := reflect.ValueOf(into), reflect.ValueOf(from)
	if target.Type() != source.Type() {
		return fmt.Errorf("read into %T: the object is %T", into, from)
	}
	target.Elem().Set(source.Elem())
	return nil
}

// List reads all objects of a kind, by name.
func (c *Client) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := c.store.types.kindOf(list)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	var options client.ListOptions
	options.ApplyOptions(opts)
	if options.FieldSelector != nil {
		return errUnsupported
	}
	var found []client.Object
	for key, o := range c.from.all() {
		wanted := key.Kind == gvk && (options.Namespace == "" || key.Name.Namespace == options.Namespace)
		if wanted && (options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(o.GetLabels()))) {
			found = append(found, copyOf(o))
		}
	}
	slices.SortFunc(found, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	items := make([]runtime.Object, 0, len(found))
	for _, o := range found {
		items = append(items, o)
	}
	return meta.SetList(list, items)
}

// Scheme is that of the store.
func (c *Client) Scheme() *runtime.Scheme { return c.store.types.scheme }

// RESTMapper is not there: nothing that the store is for needs one.
func (c *Client) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor says what kind an object is.
func (c *Client) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return c.store.types.kindOf(o)
}

// IsObjectNamespaced is true for all kinds that a store is for.
func (c *Client) IsObjectNamespaced(runtime.Object) (bool, error) { return true, nil }
