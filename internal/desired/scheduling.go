package desired

import (
	corev1 "k8s.io/api/core/v1"
)

// Spread returns the topology spread of a cluster's pods: the user's own, or a soft one over zones
// and nodes. Soft, because a member that cannot be placed ideally is still better than none.
func Spread(id Identity, wanted []corev1.TopologySpreadConstraint) []corev1.TopologySpreadConstraint {
	if len(wanted) == 0 {
		return []corev1.TopologySpreadConstraint{
			softSpread(id, corev1.LabelTopologyZone),
			softSpread(id, corev1.LabelHostname),
		}
	}
	out := make([]corev1.TopologySpreadConstraint, 0, len(wanted))
	for _, w := range wanted {
		c := *w.DeepCopy()
		if c.LabelSelector == nil {
			c.LabelSelector = id.podSelector()
		}
		out = append(out, c)
	}
	return out
}

func softSpread(id Identity, key string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew:           1,
		TopologyKey:       key,
		WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector:     id.podSelector(),
	}
}
