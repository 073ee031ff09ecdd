package apistore

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply is server-side apply. The configuration becomes the object as it is afterwards.
func (c *Client) Apply(_ context.Context, configuration runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	encoded, err := json.Marshal(configuration)
	if err != nil {
		return fmt.Errorf("encode what is applied: %w", err)
	}
	want := &unstructured.Unstructured{}
	if err := json.Unmarshal(encoded, want); err != nil {
		return fmt.Errorf("decode what is applied: %w", err)
	}
	key := Key{Kind: want.GroupVersionKind(), Name: client.ObjectKeyFromObject(want)}
	var options client.ApplyOptions
	options.ApplyOptions(opts)
	return c.through(Write{Verb: "apply", Key: key}, func() error {
		c.store.mu.Lock()
		defer c.store.mu.Unlock()
		live, err := c.store.apply(key, want, options)
		if err != nil {
			return err
		}
		return answer(configuration, live, key)
	})
}

func (s *Store) apply(key Key, want *unstructured.Unstructured, options client.ApplyOptions) (client.Object, error) {
	live := s.objects[key]
	var base client.Object
	var err error
	switch uid := want.GetUID(); {
	case live == nil && uid != "":
		return nil, conflict(key, "uid mismatch: the provided object specified uid %s, and no existing object was found", uid)
	case live == nil:
		if base, err = s.types.empty(key); err != nil {
			return nil, err
		}
	case uid != "" && uid != live.GetUID():
		return nil, conflict(key, "the UID in the configuration (%s) does not match the UID in record (%s)", uid, live.GetUID())
	default:
		base = copyOf(live)
		base.GetObjectKind().SetGroupVersionKind(key.Kind)
	}
	next, err := s.merged(key, base, want, options)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return s.create(key, next)
	}
	return s.replace(key, next)
}

// merged lets the field manager put the wanted fields into base.
func (s *Store) merged(key Key, base client.Object, want *unstructured.Unstructured, options client.ApplyOptions) (client.Object, error) {
	manager, err := s.types.fieldManager(key.Kind)
	if err != nil {
		return nil, err
	}
	force := options.Force != nil && *options.Force
	merged, err := manager.Apply(base, want, options.FieldManager, force)
	if err != nil {
		if apierrors.IsConflict(err) {
			return nil, err
		}
		return nil, fmt.Errorf("apply %s %s: %w", key.Kind.Kind, key.Name.Name, err)
	}
	next, ok := merged.(client.Object)
	if !ok {
		return nil, fmt.Errorf("apply %s %s: %T is no object", key.Kind.Kind, key.Name.Name, merged)
	}
	// These are the server's own.
	next.SetUID(base.GetUID())
	next.SetCreationTimestamp(base.GetCreationTimestamp())
	return next, nil
}

// answer makes the configuration what the object is now.
func answer(configuration runtime.ApplyConfiguration, live client.Object, key Key) error {
	encoded, err := json.Marshal(live)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	content := map[string]any{}
	if err := json.Unmarshal(encoded, &content); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	content["apiVersion"], content["kind"] = key.Kind.GroupVersion().String(), key.Kind.Kind
	if encoded, err = json.Marshal(content); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	if err := json.Unmarshal(encoded, configuration); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	return nil
}

// Status writes the status subresource.
func (c *Client) Status() client.SubResourceWriter { return statusWriter{c} }

// SubResource knows the status only.
func (c *Client) SubResource(string) client.SubResourceClient { return nil }

type statusWriter struct{ c *Client }

// Patch merges a patch that must be of the status only.
func (w statusWriter) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return w.c.patch("patch/status", o, onlyStatus{patch})
}

func (w statusWriter) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errUnsupported
}

func (w statusWriter) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return errUnsupported
}

func (w statusWriter) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errUnsupported
}

// onlyStatus drops from a patch what the status subresource does not write.
type onlyStatus struct{ client.Patch }

func (p onlyStatus) Data(o client.Object) ([]byte, error) {
	data, err := p.Patch.Data(o)
	if err != nil {
		return nil, err
	}
	var whole struct {
		Metadata struct {
			UID             types.UID `json:"uid,omitempty"`
			ResourceVersion string    `json:"resourceVersion,omitempty"`
		} `json:"metadata"`
		Status json.RawMessage `json:"status,omitempty"`
	}
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, fmt.Errorf("decode the patch: %w", err)
	}
	return json.Marshal(whole)
}
