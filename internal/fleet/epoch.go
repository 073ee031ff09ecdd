package fleet

import "k8s.io/apimachinery/pkg/types"

// RequireEpoch stops the echo of records from before that epoch: called before an intent of it is
// stored, so that no primary of an earlier epoch keeps or regains its lease through this manager.
// The required epoch only rises.
func (f *Fleet) RequireEpoch(cluster types.NamespacedName, epoch int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.clusters[cluster]; c != nil {
		c.required = max(c.required, epoch)
	}
}

func (f *Fleet) requiredEpoch(l *link) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.clusters[l.cluster]; c != nil {
		return c.required
	}
	return 0
}
