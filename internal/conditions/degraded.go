package conditions

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
)

// Problem is one thing that needs attention or costs redundancy.
type Problem struct {
	// Reason is one of the reasons of Degraded in the API.
	Reason string
	// Message is a full sentence: what is wrong, and what a person can do if anything.
	Message string
}

// SetDegraded lists the problems, the most important first; nothing: healthy.
func (w Writer) SetDegraded(problems ...Problem) { w.set(v1.ConditionDegraded, degraded(problems)) }

func degraded(problems []Problem) verdict {
	if len(problems) == 0 {
		return verdict{metav1.ConditionFalse, v1.ReasonHealthy, "Every member serves in its role."}
	}
	var sentences []string
	for _, p := range problems {
		sentences = append(sentences, p.Message)
	}
	return verdict{metav1.ConditionTrue, problems[0].Reason, strings.Join(sentences, " ")}
}
