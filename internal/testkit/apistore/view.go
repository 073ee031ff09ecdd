package apistore

import (
	"maps"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// View is a cache of a store: complete up to some change, and without those behind.
type View struct {
	store *Store

	mu      sync.Mutex
	objects map[Key]client.Object
	seen    int
}

// View makes a cache that is up to date.
func (s *Store) View() *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &View{store: s, objects: maps.Clone(s.objects), seen: len(s.log)}
}

// Follow takes in all changes but the newest ones, as many as behind says, and returns them. It
// never goes back.
func (v *View) Follow(behind int) []Change {
	changes := v.store.Changes(v.position())
	changes = changes[:max(0, len(changes)-behind)]
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range changes {
		if c.After == nil {
			delete(v.objects, c.Key)
		} else {
			v.objects[c.Key] = c.After
		}
	}
	v.seen += len(changes)
	return changes
}

func (v *View) position() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen
}

func (v *View) get(key Key) client.Object {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.objects[key]
}

func (v *View) all() map[Key]client.Object {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.objects)
}

// get makes a Store the freshest of views.
func (s *Store) get(key Key) client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key]
}

func (s *Store) all() map[Key]client.Object { return s.Objects() }

// source is where a client reads from: a View or the Store.
type source interface {
	get(key Key) client.Object
	all() map[Key]client.Object
}
