package lab

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
)

// Write is one write to the API that a watch showed.
type Write struct {
	Kind, Name, Verb string
	// By says who wrote last, as far as the object tells.
	By string
}

// Writes watches all objects of a namespace for a time and returns every write to them.
func (l *Lab) Writes(ctx context.Context, namespace string, during time.Duration) ([]Write, error) {
	lists := map[string]client.ObjectList{
		"RedisCluster": &dbv1.RedisClusterList{}, "Pod": &corev1.PodList{}, "Service": &corev1.ServiceList{},
		"Secret": &corev1.SecretList{}, "ConfigMap": &corev1.ConfigMapList{}, "Event": &corev1.EventList{},
		"PersistentVolumeClaim": &corev1.PersistentVolumeClaimList{}, "StatefulSet": &appsv1.StatefulSetList{},
		"EndpointSlice": &discoveryv1.EndpointSliceList{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{},
		"NetworkPolicy": &networkingv1.NetworkPolicyList{},
	}
	w := &writeWatch{}
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithTimeout(ctx, during)
	defer cancel()
	for kind, list := range lists {
		// From the list's version on: what exists already is no write.
		if err := l.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		stream, err := l.Client.Watch(ctx, list, client.InNamespace(namespace), resumeAt(list.GetResourceVersion()))
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", kind, err)
		}
		watching.Go(func() { w.follow(ctx, kind, stream) })
	}
	<-ctx.Done()
	watching.Wait()
	return w.writes, w.err
}

type writeWatch struct {
	mu     sync.Mutex
	writes []Write
	err    error
}

// follow ends with ctx. A stream that ends before has missed something, which is an error.
func (w *writeWatch) follow(ctx context.Context, kind string, stream watch.Interface) {
	defer stream.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-stream.ResultChan():
			w.mu.Lock()
			object, ok := event.Object.(client.Object)
			switch {
			case ctx.Err() != nil:
			case !open || !ok:
				w.err = fmt.Errorf("the watch of %s ended early: %v", kind, event.Object)
			case event.Type != watch.Bookmark:
				w.writes = append(w.writes, Write{Kind: kind, Name: object.GetName(), Verb: string(event.Type), By: lastWriter(object)})
			}
			w.mu.Unlock()
			if !open || !ok {
				return
			}
		}
	}
}

func lastWriter(object client.Object) string {
	var last string
	var at time.Time
	for _, f := range object.GetManagedFields() {
		if f.Time != nil && !f.Time.Time.Before(at) {
			last, at = f.Manager, f.Time.Time
		}
	}
	return last
}
