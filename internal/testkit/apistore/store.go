package apistore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Key names an object.
type Key struct {
	Kind schema.GroupVersionKind
	Name types.NamespacedName
}

// CompareKeys orders keys by kind and name.
func CompareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Kind.String(), b.Kind.String()), strings.Compare(a.Name.String(), b.Name.String()))
}

// Change is one change of one object, in the order in which they happened.
type Change struct {
	Key Key
	// Before and After; nil: it did not exist, or does not any more. They must not be changed.
	Before, After client.Object
}

// Store holds objects. Its methods may be called from any goroutine.
type Store struct {
	types *Types
	now   func() time.Time

	mu      sync.Mutex
	objects map[Key]client.Object
	version uint64
	uids    uint64
	log     []Change
}

// New makes an empty Store that reads the time from now.
func New(t *Types, now func() time.Time) *Store {
	return &Store{types: t, now: now, objects: map[Key]client.Object{}}
}

// Copy is a store that goes its own way from here. Objects are never changed in place, so both
// share them.
func (s *Store) Copy(now func() time.Time) *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{
		types: s.types, now: now, objects: maps.Clone(s.objects), version: s.version, uids: s.uids,
		// The capacity is cut, so that two copies never append into one array.
		log: s.log[:len(s.log):len(s.log)],
	}
}

// Objects are all objects now; they must not be changed.
func (s *Store) Objects() map[Key]client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.objects)
}

// Changes are the changes since the n-th; they must not be changed.
func (s *Store) Changes(since int) []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log[since:len(s.log):len(s.log)]
}

// Key of an object.
func (s *Store) Key(o client.Object) (Key, error) {
	gvk, err := s.types.kindOf(o)
	if err != nil {
		return Key{}, err
	}
	return Key{Kind: gvk, Name: client.ObjectKeyFromObject(o)}, nil
}

// Edit changes an object as anybody but the client under test does. It fails if there is none.
func (s *Store) Edit(o client.Object, change func(client.Object)) error {
	key, err := s.Key(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.objects[key]
	if live == nil {
		return notFound(key)
	}
	next := copyOf(live)
	change(next)
	_, err = s.replace(key, next)
	return err
}

// Remove takes an object away at once, whatever it is.
func (s *Store) Remove(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if live := s.objects[key]; live != nil {
		s.put(key, nil)
	}
}

// create is called with the lock held, as are all below.
func (s *Store) create(key Key, o client.Object) (client.Object, error) {
	if s.objects[key] != nil {
		return nil, apierrors.NewAlreadyExists(resourceOf(key), key.Name.Name)
	}
	s.uids++
	o.SetUID(types.UID(fmt.Sprintf("uid-%d-%s", s.uids, key.Name.Name)))
	o.SetCreationTimestamp(metav1.NewTime(s.now()))
	o.SetGeneration(1)
	o.SetDeletionTimestamp(nil)
	s.stamp(o)
	s.put(key, o)
	return o, nil
}

// replace writes a new version of an object that exists. Without a difference nothing happens, and
// the version stays.
func (s *Store) replace(key Key, next client.Object) (client.Object, error) {
	live := s.objects[key]
	next.SetResourceVersion(live.GetResourceVersion())
	same, err := sameBut(live, next, func(m map[string]any) { delete(m, "managedFields") })
	if err != nil || same {
		return live, err
	}
	changed, err := specChanged(live, next)
	if err != nil {
		return nil, err
	}
	if changed {
		next.SetGeneration(live.GetGeneration() + 1)
	}
	s.stamp(next)
	s.put(key, next)
	return next, nil
}

func (s *Store) stamp(o client.Object) {
	s.version++
	o.SetResourceVersion(strconv.FormatUint(s.version, 10))
}

func (s *Store) put(key Key, o client.Object) {
	s.log = append(s.log, Change{Key: key, Before: s.objects[key], After: o})
	if o == nil {
		// A deletion is a change of its own.
		s.version++
		delete(s.objects, key)
		return
	}
	s.objects[key] = o
}

// sameBut compares two objects without the metadata that change takes away.
func sameBut(a, b client.Object, change func(metadata map[string]any)) (bool, error) {
	x, err := contentOf(a)
	if err != nil {
		return false, err
	}
	y, err := contentOf(b)
	if err != nil {
		return false, err
	}
	for _, content := range []map[string]any{x, y} {
		if metadata, ok := content["metadata"].(map[string]any); ok {
			change(metadata)
		}
		delete(content, "apiVersion")
		delete(content, "kind")
	}
	return reflect.DeepEqual(x, y), nil
}

func specChanged(a, b client.Object) (bool, error) {
	x, err := contentOf(a)
	if err != nil {
		return false, err
	}
	y, err := contentOf(b)
	if err != nil {
		return false, err
	}
	return !reflect.DeepEqual(x["spec"], y["spec"]), nil
}

func contentOf(o client.Object) (map[string]any, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", o, err)
	}
	var content map[string]any
	if err := json.Unmarshal(b, &content); err != nil {
		return nil, fmt.Errorf("decode %T: %w", o, err)
	}
	return content, nil
}

func copyOf(o client.Object) client.Object {
	c, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		// A DeepCopy of an object is always one.
		return nil
	}
	return c
}

func resourceOf(key Key) schema.GroupResource {
	return schema.GroupResource{Group: key.Kind.Group, Resource: key.Kind.Kind}
}

func notFound(key Key) error { return apierrors.NewNotFound(resourceOf(key), key.Name.Name) }

func conflict(key Key, format string, args ...any) error {
	return apierrors.NewConflict(resourceOf(key), key.Name.Name, fmt.Errorf(format, args...))
}
