package conditions

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Currency is what SetUpToDate rests on.
type Currency struct {
	// Outdated members, in the order of their restart.
	Outdated []OutdatedMember
	// AwaitingApproval: only a person's approval is missing.
	AwaitingApproval bool
	// Generation of the cluster's spec, which the approval must name.
	Generation int64
}

// OutdatedMember is a member that waits for its restart.
type OutdatedMember struct {
	Name string
	// Why, in words such as "image redis:8.0.5 → redis:8.0.6".
	Why []string
}

// SetUpToDate says whether every member runs what the spec asks for.
func (w Writer) SetUpToDate(c Currency) { w.set(v1.ConditionUpToDate, upToDate(c)) }

func upToDate(c Currency) verdict {
	if len(c.Outdated) == 0 {
		return verdict{metav1.ConditionTrue, v1.ReasonCurrent, "Every member runs what the spec asks for."}
	}
	var members []string
	for _, m := range c.Outdated {
		members = append(members, fmt.Sprintf("%s (%s)", m.Name, strings.Join(m.Why, ", ")))
	}
	waiting := "Waiting for a restart: " + strings.Join(members, "; ") + "."
	if c.AwaitingApproval {
		return verdict{metav1.ConditionFalse, v1.ReasonApprovalNeeded,
			fmt.Sprintf("%s To approve, annotate the cluster with %s=%d.", waiting, naming.AnnotationApprovePrimaryRestart, c.Generation)}
	}
	return verdict{metav1.ConditionFalse, v1.ReasonOutdated, waiting}
}
