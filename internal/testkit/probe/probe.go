package probe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
)

// afterlife is how long a member is still asked after its pod's object is gone: after a forced
// deletion the process may go on.
const afterlife = time.Minute

// Options of a probe.
type Options struct {
	Clientset kubernetes.Interface
	// Cluster that is watched.
	Cluster types.NamespacedName
	// Passwords of the default user, tried in order.
	Passwords []string
	// Now is the clock of the history that the report is compared with.
	Now func() time.Duration
}

// Probe is a running probe.
type Probe struct {
	options Options
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	report  Report
	slices  map[string]discoveryv1.EndpointSlice
	members map[string]context.CancelFunc
}

// Start watches a cluster until Stop or until ctx ends.
func Start(ctx context.Context, o Options) (*Probe, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &Probe{options: o, cancel: cancel, slices: map[string]discoveryv1.EndpointSlice{}, members: map[string]context.CancelFunc{}}
	endpoints := p.factory(map[string]string{naming.LabelServiceName: naming.PrimaryService(o.Cluster.Name)})
	pods := p.factory(naming.MemberSelector(o.Cluster.Name, naming.PartOfRedis))
	if err := p.watchEndpoints(endpoints); err != nil {
		cancel()
		return nil, err
	}
	if err := p.watchPods(ctx, pods); err != nil {
		cancel()
		return nil, err
	}
	for _, f := range []informers.SharedInformerFactory{endpoints, pods} {
		f.Start(ctx.Done())
		for kind, synced := range f.WaitForCacheSync(ctx.Done()) {
			if !synced {
				cancel()
				return nil, fmt.Errorf("watch %v of %s", kind, o.Cluster)
			}
		}
		p.running.Go(func() { <-ctx.Done(); f.Shutdown() })
	}
	return p, nil
}

func (p *Probe) factory(selector map[string]string) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(p.options.Clientset, 0,
		informers.WithNamespace(p.options.Cluster.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = labels.SelectorFromSet(selector).String() }))
}

// Stop ends the probe and returns what it saw.
func (p *Probe) Stop() Report {
	p.cancel()
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return Report{Samples: slices.Clone(p.report.Samples), Routings: slices.Clone(p.report.Routings)}
}

func (p *Probe) watchEndpoints(f informers.SharedInformerFactory) error {
	set := func(object any) {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			p.route(func() { p.slices[slice.Name] = *slice })
		}
	}
	_, err := f.Discovery().V1().EndpointSlices().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, object any) { set(object) },
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				_, name, _ := cache.SplitMetaNamespaceKey(key)
				p.route(func() { delete(p.slices, name) })
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch endpoints: %w", err)
	}
	return nil
}

func (p *Probe) route(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	var all []discoveryv1.EndpointSlice
	for _, slice := range p.slices {
		all = append(all, slice)
	}
	p.report.Routings = append(p.report.Routings, Routing{At: p.options.Now(), Pods: lab.ReadyPods(all)})
}

func (p *Probe) watchPods(ctx context.Context, f informers.SharedInformerFactory) error {
	seen := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && pod.Status.PodIP != "" {
			p.ask(ctx, pod)
		}
	}
	_, err := f.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, object any) { seen(object) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok {
				p.leave(pod)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	return nil
}

// memberKey tells two pods of one name apart, and the same pod after its sandbox was made anew.
func memberKey(pod *corev1.Pod) string { return string(pod.UID) + "/" + pod.Status.PodIP }

func (p *Probe) ask(ctx context.Context, pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.members[memberKey(pod)]; ok || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	p.members[memberKey(pod)] = cancel
	m := member{name: pod.Name, address: lab.Address(pod.Status.PodIP), options: p.options, keep: p.keep}
	p.running.Go(func() { m.run(ctx) })
}

func (p *Probe) leave(pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cancel, ok := p.members[memberKey(pod)]; ok {
		time.AfterFunc(afterlife, cancel)
	}
}

func (p *Probe) keep(s Sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Samples = append(p.report.Samples, s)
}
