package rediscluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/apply"
	"github.com/holdfast-dev/holdfast/internal/events"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/execute"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
	"github.com/holdfast-dev/holdfast/internal/watches"
)

// passTimeout bounds one pass, so that a hung call cannot hold a worker for ever.
const passTimeout = 30 * time.Second

// Fleet is what the reconciler needs of the streams to the agents. *fleet.Fleet implements it.
type Fleet interface {
	execute.Orders
	Sync(cluster types.NamespacedName, target fleet.Target)
	Contacts(cluster types.NamespacedName) []fleet.Contact
	Forget(cluster types.NamespacedName)
	RequireEpoch(cluster types.NamespacedName, epoch int64)
}

// Options of a Reconciler.
type Options struct {
	Client client.Client
	// Applier brings objects to the API server.
	Applier *apply.Applier
	// Live reads past the cache: objects that it does not hold, and those that it may show too old.
	Live     client.Reader
	Fleet    Fleet
	Recorder events.Recorder
	// AgentImage is the operator's own image, from which new pods take the agent.
	AgentImage string
	Images     resources.Images
	// Manager says where the operator's own pods are.
	Manager resources.Manager
	// Now and Random are set by tests; nil: the real ones.
	Now    func() time.Time
	Random io.Reader
}

// +kubebuilder:rbac:groups=db.holdfast.dev,resources=redisclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=db.holdfast.dev,resources=redisclusters/status,verbs=patch
// +kubebuilder:rbac:groups=db.holdfast.dev,resources=redisclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=services;secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices/restricted,verbs=create
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// New makes a Reconciler.
func New(o Options) *Reconciler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return &Reconciler{Options: o, memories: memories{byUID: map[types.UID]*memory{}}}
}

// SetupWithManager registers the reconciler. woken carries the clusters whose agents said something.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, entry watches.Entry, woken <-chan event.GenericEvent) error {
	r.period = entry.ReconcilePeriod
	chosen := predicate.NewPredicateFuncs(func(o client.Object) bool { return entry.Selector.Matches(labels.Set(o.GetLabels())) })
	err := ctrl.NewControllerManagedBy(mgr).
		Named("rediscluster").
		For(&v1.RedisCluster{}, builder.WithPredicates(chosen, predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}))).
		Owns(&appsv1.StatefulSet{}).
		Owns(&corev1.Service{}).
		Owns(&discoveryv1.EndpointSlice{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Owns(&networkingv1.NetworkPolicy{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(byClusterLabel)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(byClusterLabel)).
		WatchesRawSource(source.Channel(woken, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: entry.MaxConcurrentReconciles,
			ReconciliationTimeout:   passTimeout,
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up controller of RedisCluster: %w", err)
	}
	return nil
}

// byClusterLabel maps a pod or a Secret to the cluster that its label names.
func byClusterLabel(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[naming.LabelCluster]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}
