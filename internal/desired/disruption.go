package desired

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodDisruptionBudget lets one member go at a time. That includes the only member of a cluster of
// one: a budget that forbids every drain only makes people delete it.
//
// A pod that is not ready may be evicted only while the others fill the budget: then a broken member does
// not block the drain of its node, and a healthy one that the kubelet has not looked at for a moment is not
// taken beside another.
func PodDisruptionBudget(id Identity, name string) *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	unhealthy := policyv1.IfHealthyBudget
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: id.meta(name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             &one,
			Selector:                   id.podSelector(),
			UnhealthyPodEvictionPolicy: &unhealthy,
		},
	}
}
