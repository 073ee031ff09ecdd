package conditions

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage is far below the API's limit of 32768: a status is read by people.
const maxMessage = 1024

// cut ends a message that was too long.
const cut = " …"

// Writer writes conditions that speak of one generation of the spec, at one time.
type Writer struct {
	conditions *[]metav1.Condition
	generation int64
	now        time.Time
}

// NewWriter writes to the given list.
func NewWriter(conditions *[]metav1.Condition, generation int64, now time.Time) Writer {
	return Writer{conditions: conditions, generation: generation, now: now}
}

// set writes one condition, and keeps the list in the order of types so that equal facts give equal lists.
func (w Writer) set(kind string, v verdict) {
	meta.SetStatusCondition(w.conditions, metav1.Condition{
		Type:               kind,
		Status:             v.status,
		Reason:             v.reason,
		Message:            shorten(v.message),
		ObservedGeneration: w.generation,
		// Used only if the status flips.
		LastTransitionTime: metav1.NewTime(w.now.Truncate(time.Second)),
	})
	slices.SortStableFunc(*w.conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
}

type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

// shorten cuts a message at a whole character.
func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage - len(cut)
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + cut
}
