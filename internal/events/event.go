package events

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// Types of events, as Kubernetes spells them.
const (
	typeNormal  = "Normal"
	typeWarning = "Warning"
)

// Recorder emits events; the recorder of k8s.io/client-go/tools/events is one.
type Recorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// Event is one entry of the catalogue.
type Event struct {
	kind   string
	reason string
	// action is what the operator did or tried.
	action string
	format string
}

// Reason is the machine-readable name of the event.
func (e Event) Reason() string { return e.reason }

// Emit records the event about an object. The arguments are those of the message's format.
func (e Event) Emit(r Recorder, about runtime.Object, args ...any) {
	r.Eventf(about, nil, e.kind, e.reason, e.action, e.format, args...)
}
