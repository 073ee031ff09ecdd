package rediscluster

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
)

// Waker carries the names of clusters whose agents said something to the reconciler's queue. A name
// that waits already is not added twice, so that many records of one cluster cost one pass.
type Waker struct {
	mu      sync.Mutex
	pending map[types.NamespacedName]bool
	signal  chan struct{}
	out     chan event.GenericEvent
}

// NewWaker makes a Waker; it works between Start and the end of Start's context.
func NewWaker() *Waker {
	return &Waker{pending: map[types.NamespacedName]bool{}, signal: make(chan struct{}, 1), out: make(chan event.GenericEvent)}
}

// Wake asks for a pass of a cluster. It never blocks.
func (w *Waker) Wake(name types.NamespacedName) {
	w.mu.Lock()
	w.pending[name] = true
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// Events is the source for the controller.
func (w *Waker) Events() <-chan event.GenericEvent { return w.out }

// Start carries names until ctx ends.
func (w *Waker) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.signal:
		}
		for _, name := range w.take() {
			cluster := &v1.RedisCluster{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
			select {
			case <-ctx.Done():
				return nil
			case w.out <- event.GenericEvent{Object: cluster}:
			}
		}
	}
}

func (w *Waker) take() []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := make([]types.NamespacedName, 0, len(w.pending))
	for name := range w.pending {
		names = append(names, name)
	}
	clear(w.pending)
	return names
}
