package conditions

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
)

// SetPaused says whether the spec stops the operator.
func (w Writer) SetPaused(spec v1.RedisClusterSpec) { w.set(v1.ConditionPaused, paused(spec)) }

func paused(spec v1.RedisClusterSpec) verdict {
	if spec.Paused {
		return verdict{metav1.ConditionTrue, v1.ReasonPaused, "spec.paused is true: the operator does nothing for this cluster, not even fail over."}
	}
	return verdict{metav1.ConditionFalse, v1.ReasonActive, "The operator looks after this cluster."}
}
