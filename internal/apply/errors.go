package apply

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrNotOurs: an object of a name that we need exists and is not controlled by the owner.
var ErrNotOurs = errors.New("object belongs to somebody else")

// ErrBeingDeleted: the object is on its way out; its successor can be made once it is gone, which a watch tells.
var ErrBeingDeleted = errors.New("object is being deleted")

// ObjectError says which object an error is about. It wraps ErrNotOurs, ErrBeingDeleted or what the API server said.
type ObjectError struct {
	Kind      string
	Namespace string
	Name      string
	Err       error
}

func (e *ObjectError) Error() string {
	return fmt.Sprintf("%s %s/%s: %s", e.Kind, e.Namespace, e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

func about(kind string, o client.Object, err error) error {
	return &ObjectError{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Err: err}
}
