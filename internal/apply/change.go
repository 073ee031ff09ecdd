package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Create makes an object whose content must never be written over, such as a Secret with a
// generated password. If it exists already under the owner's control, live is what exists; made says which.
func (a *Applier) Create(ctx context.Context, owner, want client.Object) (live client.Object, made bool, err error) {
	t, err := a.prepare(owner, want)
	if err != nil {
		return nil, false, err
	}
	kind := t.want.GetKind()
	object, ok := want.DeepCopyObject().(client.Object)
	if !ok {
		return nil, false, fmt.Errorf("copy %T: not an object", want)
	}
	if err := controllerutil.SetControllerReference(owner, object, a.client.Scheme()); err != nil {
		return nil, false, about(kind, want, err)
	}
	err = a.client.Create(ctx, object, client.FieldOwner(naming.FieldOwner))
	switch {
	case err == nil:
		return object, true, nil
	case !apierrors.IsAlreadyExists(err):
		return nil, false, about(kind, want, fmt.Errorf("create: %w", err))
	}
	existing, err := t.empty(a.client.Scheme())
	if err != nil {
		return nil, false, about(kind, want, err)
	}
	// Not from the cache: it may not show yet what is known to exist.
	if err := a.direct.Get(ctx, client.ObjectKeyFromObject(want), existing); err != nil {
		return nil, false, about(kind, want, fmt.Errorf("read: %w", err))
	}
	if err := a.owns(owner, existing); err != nil {
		return nil, false, about(kind, want, err)
	}
	return existing, false, nil
}

// Relabel changes labels and annotations of a running pod, and of this very pod only.
func (a *Applier) Relabel(ctx context.Context, pod client.Object, change desired.Relabelling) error {
	if change.Empty() {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.GetUID(), "labels": change.Labels, "annotations": change.Annotations,
	}})
	if err != nil {
		return about("Pod", pod, fmt.Errorf("encode labels: %w", err))
	}
	target, ok := pod.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %T: not an object", pod)
	}
	if err := a.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(naming.FieldOwner)); err != nil {
		return about("Pod", pod, fmt.Errorf("change labels: %w", err))
	}
	return nil
}

// Delete deletes this very object: one of the same name that was made since is left alone. An
// object that is gone already is no error.
func (a *Applier) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	uid := object.GetUID()
	if uid == "" {
		return about(fmt.Sprintf("%T", object), object, fmt.Errorf("delete without a UID"))
	}
	opts = append(opts, client.Preconditions{UID: &uid})
	err := a.client.Delete(ctx, object, opts...)
	// A conflict says that the name now belongs to another object, so this one is gone.
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return about(fmt.Sprintf("%T", object), object, fmt.Errorf("delete: %w", err))
}
