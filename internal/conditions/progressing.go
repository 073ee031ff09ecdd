package conditions

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
)

// Activity is one thing that the operator is working on.
type Activity struct {
	// Reason is one of the reasons of Progressing in the API.
	Reason string
	// Message is a full sentence: what is being done, and what it waits for.
	Message string
}

// SetProgressing says what the operator is working on, the most important first; nothing: settled.
func (w Writer) SetProgressing(activities ...Activity) {
	w.set(v1.ConditionProgressing, progressing(activities))
}

func progressing(activities []Activity) verdict {
	if len(activities) == 0 {
		return verdict{metav1.ConditionFalse, v1.ReasonSettled, "Nothing is left to do."}
	}
	var sentences []string
	for _, a := range activities {
		sentences = append(sentences, a.Message)
	}
	return verdict{metav1.ConditionTrue, activities[0].Reason, strings.Join(sentences, " ")}
}
