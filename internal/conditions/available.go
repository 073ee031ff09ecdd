package conditions

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
)

// Availability is what SetAvailable rests on.
type Availability struct {
	// Started: every member has run once since the cluster was made.
	Started bool
	// Primary is the pod that is primary in the current epoch; empty: none.
	Primary string
	// Contact with the primary.
	Contact Contact
	// Serving: the primary takes writes in the current epoch and the Service leads to it. Read only with ContactKnown.
	Serving bool
	// Attached and Needed replicas for the primary to take writes.
	Attached, Needed int32
	// Detail says more about why there is no primary, or why it does not serve; a full sentence, may be empty.
	Detail string
}

// Contact says whether the operator hears a member.
type Contact string

// The states of contact.
const (
	// ContactKnown: the member's agent reports.
	ContactKnown Contact = "Known"
	// ContactLost: nothing is heard, and nothing says that the member is down.
	ContactLost Contact = "Lost"
)

// SetAvailable says whether clients can write through the primary Service.
func (w Writer) SetAvailable(a Availability) { w.set(v1.ConditionAvailable, available(a)) }

func available(a Availability) verdict {
	switch {
	case a.Primary == "" && !a.Started:
		return verdict{metav1.ConditionFalse, v1.ReasonCreating, join("The members are starting for the first time.", a.Detail)}
	case a.Primary == "":
		return verdict{metav1.ConditionFalse, v1.ReasonNoPrimary, join("No member is primary.", a.Detail)}
	case a.Contact == ContactLost:
		return verdict{metav1.ConditionUnknown, v1.ReasonPrimaryUnknown,
			join(fmt.Sprintf("The operator cannot reach the primary %s, but nothing says that it is down.", a.Primary), a.Detail)}
	case a.Serving && a.Attached >= a.Needed:
		return verdict{metav1.ConditionTrue, v1.ReasonPrimaryServing, fmt.Sprintf("Primary %s takes writes.", a.Primary)}
	case a.Attached < a.Needed:
		return verdict{metav1.ConditionFalse, v1.ReasonTooFewReplicas,
			join(fmt.Sprintf("Primary %s refuses writes: %d of %d needed replicas are attached.", a.Primary, a.Attached, a.Needed), a.Detail)}
	default:
		return verdict{metav1.ConditionFalse, v1.ReasonNoPrimary, join(fmt.Sprintf("Primary %s does not take writes.", a.Primary), a.Detail)}
	}
}

func join(sentence, detail string) string {
	if detail == "" {
		return sentence
	}
	return sentence + " " + detail
}
