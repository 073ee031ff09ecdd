package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Applier applies objects for their owners.
type Applier struct {
	client client.Client
	direct client.Reader
	memory *memory
}

// New returns an Applier. Client may read from a cache; direct must not: it is asked before an object
// is made, since a cache that is filtered or behind does not show everything that exists.
func New(c client.Client, direct client.Reader) *Applier {
	return &Applier{client: c, direct: direct, memory: newMemory()}
}

// Outcome says what an apply did.
type Outcome string

// The outcomes.
const (
	// Unchanged: no request that writes was sent.
	Unchanged Outcome = "Unchanged"
	// Created: the object was made.
	Created Outcome = "Created"
	// Updated: the object was changed, because we want something else than before.
	Updated Outcome = "Updated"
	// Repaired: the object was changed or made again, though we want what we wanted before: somebody else had touched it.
	Repaired Outcome = "Repaired"
)

// Result of an apply.
type Result struct {
	Outcome Outcome
	// Live is the object as the API server has it, of the type that was passed in.
	Live client.Object
}

// task is one apply.
type task struct {
	owner client.Object
	want  *unstructured.Unstructured
	key   memoryKey
	// digest of the wanted content.
	digest string
}

// Apply makes the object what is wanted, under the owner's control. It returns an ObjectError around
// ErrNotOurs if somebody else has the name, and around ErrBeingDeleted if the object is on its way out.
func (a *Applier) Apply(ctx context.Context, owner, want client.Object) (Result, error) {
	t, err := a.prepare(owner, want)
	if err != nil {
		return Result{}, err
	}
	result, err := a.run(ctx, t)
	if err != nil {
		return Result{}, about(t.want.GetKind(), t.want, err)
	}
	return result, nil
}

// Forget drops what is remembered of an owner that is gone.
func (a *Applier) Forget(owner client.Object) { a.memory.forget(owner.GetUID()) }

func (a *Applier) prepare(owner, want client.Object) (task, error) {
	gvk, err := apiutil.GVKForObject(want, a.client.Scheme())
	if err != nil {
		return task{}, fmt.Errorf("find kind of %T: %w", want, err)
	}
	typed, ok := want.DeepCopyObject().(client.Object)
	if !ok {
		return task{}, fmt.Errorf("copy %T: not an object", want)
	}
	if err := controllerutil.SetControllerReference(owner, typed, a.client.Scheme()); err != nil {
		return task{}, fmt.Errorf("set owner of %s %s: %w", gvk.Kind, want.GetName(), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return task{}, fmt.Errorf("encode %s %s: %w", gvk.Kind, want.GetName(), err)
	}
	// The status is not ours, though the Go type always encodes one.
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	digest, err := digestOf(content)
	if err != nil {
		return task{}, err
	}
	key := memoryKey{owner: owner.GetUID(), kind: gvk.GroupKind(), name: want.GetName()}
	return task{owner: owner, want: u, key: key, digest: digest}, nil
}

func (a *Applier) run(ctx context.Context, t task) (Result, error) {
	live, err := a.find(ctx, t)
	if err != nil {
		return Result{}, err
	}
	if live == nil {
		return a.create(ctx, t)
	}
	if err := a.owns(t.owner, live); err != nil {
		return Result{}, err
	}
	if a.memory.covers(t, live) {
		return Result{Outcome: Unchanged, Live: live}, nil
	}
	same, err := compare(t, live)
	if err != nil {
		return Result{}, err
	}
	// A view from before our own last write proves nothing: what is wanted now may be what it shows,
	// while that write changed it.
	if same && !a.memory.behind(t, live) {
		a.memory.store(t, live)
		return Result{Outcome: Unchanged, Live: live}, nil
	}
	// The UID makes the apply fail if the object was replaced since it was judged.
	t.want.SetUID(live.GetUID())
	return a.send(ctx, t, a.outcome(t, Updated), client.ForceOwnership)
}

// find returns the object as it is, or nil. Only the API server itself can say that there is none.
func (a *Applier) find(ctx context.Context, t task) (client.Object, error) {
	for _, reader := range []client.Reader{a.client, a.direct} {
		live, err := t.empty(a.client.Scheme())
		if err != nil {
			return nil, err
		}
		err = reader.Get(ctx, client.ObjectKeyFromObject(t.want), live)
		switch {
		case err == nil:
			return live, nil
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("read: %w", err)
		}
	}
	return nil, nil
}

// empty returns a new object of the wanted type.
func (t task) empty(scheme *runtime.Scheme) (client.Object, error) {
	o, err := scheme.New(t.want.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("make object: %w", err)
	}
	object, ok := o.(client.Object)
	if !ok {
		return nil, fmt.Errorf("make object: %T is not an object", o)
	}
	return object, nil
}

// create does not force ownership: if somebody makes an object of this name in the moment since we
// looked, the fields conflict, and theirs stays as it is.
func (a *Applier) create(ctx context.Context, t task) (Result, error) {
	result, err := a.send(ctx, t, a.outcome(t, Created))
	if apierrors.IsConflict(err) {
		return Result{}, fmt.Errorf("%w: %w", ErrNotOurs, err)
	}
	return result, err
}

// outcome tells a repair from a change that we want.
func (a *Applier) outcome(t task, otherwise Outcome) Outcome {
	if a.memory.wanted(t) {
		return Repaired
	}
	return otherwise
}

func (a *Applier) send(ctx context.Context, t task, outcome Outcome, opts ...client.ApplyOption) (Result, error) {
	opts = append(opts, client.FieldOwner(naming.FieldOwner))
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(t.want), opts...); err != nil {
		return Result{}, fmt.Errorf("apply: %w", err)
	}
	live, err := t.empty(a.client.Scheme())
	if err != nil {
		return Result{}, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(t.want.Object, live); err != nil {
		return Result{}, fmt.Errorf("decode answer: %w", err)
	}
	a.memory.store(t, live)
	return Result{Outcome: outcome, Live: live}, nil
}

func (a *Applier) owns(owner, live client.Object) error {
	switch {
	case !live.GetDeletionTimestamp().IsZero():
		return ErrBeingDeleted
	case metav1.IsControlledBy(live, owner):
		return nil
	}
	gvk, err := apiutil.GVKForObject(owner, a.client.Scheme())
	if err != nil {
		return fmt.Errorf("find kind of %T: %w", owner, err)
	}
	// What an owner of this kind and name left behind that is no more: the garbage collector takes it.
	if c := metav1.GetControllerOf(live); c != nil && c.Kind == gvk.Kind && c.Name == owner.GetName() {
		return ErrBeingDeleted
	}
	return ErrNotOurs
}

func compare(t task, live client.Object) (bool, error) {
	owned, err := ownedFields(live.GetManagedFields())
	if err != nil {
		return false, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, fmt.Errorf("encode live object: %w", err)
	}
	withoutClaimKinds(content)
	return upToDate(owned, content, t.want.Object), nil
}
