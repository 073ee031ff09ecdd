package watches

import (
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// File is what watches.yaml says, in its order.
type File struct {
	Entries []Entry
}

// Entry says how the objects of one kind are reconciled.
type Entry struct {
	GVK schema.GroupVersionKind
	// MaxConcurrentReconciles is how many objects are worked on at the same time.
	MaxConcurrentReconciles int
	// ReconcilePeriod is how often an object is looked at when nothing happened to it.
	ReconcilePeriod time.Duration
	// Selector of the objects that are reconciled; it selects everything unless the file says otherwise.
	Selector labels.Selector
}

// Load reads the file at the path. Its error lists everything that is wrong with the file, by line.
func Load(path string) (File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("read the watches file: %w", err)
	}
	return Parse(path, data)
}

// For returns the entry of a kind, and whether there is one.
func (f File) For(gvk schema.GroupVersionKind) (Entry, bool) {
	for _, e := range f.Entries {
		if e.GVK == gvk {
			return e, true
		}
	}
	return Entry{}, false
}

// Kinds lists the kinds of the file in its order.
func (f File) Kinds() []schema.GroupVersionKind {
	kinds := make([]schema.GroupVersionKind, 0, len(f.Entries))
	for _, e := range f.Entries {
		kinds = append(kinds, e.GVK)
	}
	return kinds
}
