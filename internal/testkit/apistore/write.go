package apistore

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// through carries out a write and lets the gate see it.
func (c *Client) through(w Write, do func() error) error {
	if c.gate.Before != nil {
		if err := c.gate.Before(w); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	if c.gate.After != nil {
		return c.gate.After(w)
	}
	return nil
}

// Create makes an object that must not exist.
func (c *Client) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	key, err := c.store.Key(o)
	if err != nil {
		return err
	}
	return c.through(Write{Verb: "create", Key: key}, func() error {
		c.store.mu.Lock()
		defer c.store.mu.Unlock()
		made, err := c.store.create(key, copyOf(o))
		if err != nil {
			return err
		}
		return fill(o, copyOf(made))
	})
}

// Delete removes an object. A pod is marked and stays until its kubelet lets it go, unless it has
// no grace period.
func (c *Client) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	key, err := c.store.Key(o)
	if err != nil {
		return err
	}
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	w := Write{Verb: "delete", Key: key}
	if p := options.Preconditions; p != nil && p.UID != nil {
		w.UID = *p.UID
	}
	return c.through(w, func() error { return c.store.delete(w, options) })
}

func (s *Store) delete(w Write, options client.DeleteOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.objects[w.Key]
	switch {
	case live == nil:
		return notFound(w.Key)
	case w.UID != "" && live.GetUID() != w.UID:
		return conflict(w.Key, "the UID in the precondition (%s) does not match the UID in record (%s)", w.UID, live.GetUID())
	}
	pod, isPod := live.(*corev1.Pod)
	if !isPod || (options.GracePeriodSeconds != nil && *options.GracePeriodSeconds == 0) {
		s.put(w.Key, nil)
		return nil
	}
	if !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	next := pod.DeepCopy()
	at := metav1.NewTime(s.now())
	next.DeletionTimestamp = &at
	s.stamp(next)
	s.put(w.Key, next)
	return nil
}

// Patch changes an object by a merge patch. A resource version or a UID in it must be the object's.
func (c *Client) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.patch("patch", o, patch)
}

func (c *Client) patch(verb string, o client.Object, patch client.Patch) error {
	if patch.Type() != types.MergePatchType {
		return fmt.Errorf("patch of type %s: %w", patch.Type(), errUnsupported)
	}
	key, err := c.store.Key(o)
	if err != nil {
		return err
	}
	data, err := patch.Data(o)
	if err != nil {
		return fmt.Errorf("make the patch: %w", err)
	}
	return c.through(Write{Verb: verb, Key: key}, func() error {
		c.store.mu.Lock()
		defer c.store.mu.Unlock()
		next, err := c.store.merge(key, data)
		if err != nil {
			return err
		}
		return fill(o, copyOf(next))
	})
}

func (s *Store) merge(key Key, data []byte) (client.Object, error) {
	live := s.objects[key]
	if live == nil {
		return nil, notFound(key)
	}
	var demands struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &demands); err != nil {
		return nil, fmt.Errorf("decode the patch: %w", err)
	}
	if v := demands.Metadata.ResourceVersion; v != "" && v != live.GetResourceVersion() {
		return nil, conflict(key, "the object has been modified")
	}
	if uid := demands.Metadata.UID; uid != "" && uid != live.GetUID() {
		return nil, conflict(key, "the UID in the patch (%s) does not match the UID in record (%s)", uid, live.GetUID())
	}
	old, err := json.Marshal(live)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", key.Kind.Kind, err)
	}
	merged, err := jsonpatch.MergePatch(old, data)
	if err != nil {
		return nil, fmt.Errorf("merge the patch: %w", err)
	}
	next, err := s.types.empty(key)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(merged, next); err != nil {
		return nil, fmt.Errorf("decode the patched object: %w", err)
	}
	return s.replace(key, next)
}

func (t *Types) empty(key Key) (client.Object, error) {
	o, err := t.scheme.New(key.Kind)
	if err != nil {
		return nil, fmt.Errorf("make an object: %w", err)
	}
	object, ok := o.(client.Object)
	if !ok {
		return nil, fmt.Errorf("make an object: %T is none", o)
	}
	object.GetObjectKind().SetGroupVersionKind(key.Kind)
	return object, nil
}

// Update is not what a client under test shall use: it writes fields that are not its own.
func (c *Client) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return errUnsupported
}

// DeleteAllOf is not supported: it carries no UID.
func (c *Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errUnsupported
}
