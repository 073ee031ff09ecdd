package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// memory keeps, for each object, what was wanted last and which version of the object had it. It
// only saves work: it recognises a cache that is behind our own write, and a repair. Losing it is harmless.
type memory struct {
	mu     sync.Mutex
	owners map[types.UID]map[memoryKey]remembered
}

type memoryKey struct {
	owner types.UID
	kind  schema.GroupKind
	name  string
}

type remembered struct {
	digest  string
	uid     types.UID
	version string
}

func newMemory() *memory {
	return &memory{owners: map[types.UID]map[memoryKey]remembered{}}
}

func digestOf(content map[string]any) (string, error) {
	b, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode object: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

func (m *memory) get(k memoryKey) (remembered, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.owners[k.owner][k]
	return r, ok
}

func (m *memory) store(t task, live client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.owners[t.key.owner]
	if of == nil {
		of = map[memoryKey]remembered{}
		m.owners[t.key.owner] = of
	}
	of[t.key] = remembered{digest: t.digest, uid: live.GetUID(), version: live.GetResourceVersion()}
}

// wanted says whether the same content was wanted the last time.
func (m *memory) wanted(t task) bool {
	r, ok := m.get(t.key)
	return ok && r.digest == t.digest
}

// covers says whether the live object is one that already had the wanted content, or an older view of it: then
// the cache is merely behind our own write.
func (m *memory) covers(t task, live client.Object) bool {
	r, ok := m.get(t.key)
	if !ok || r.digest != t.digest || r.uid != live.GetUID() {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(live.GetResourceVersion(), r.version)
	return err == nil && order <= 0
}

// behind says whether the live object is a view from before our own last write of it.
func (m *memory) behind(t task, live client.Object) bool {
	r, ok := m.get(t.key)
	if !ok || r.uid != live.GetUID() {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(live.GetResourceVersion(), r.version)
	return err == nil && order < 0
}

func (m *memory) forget(owner types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, owner)
}
