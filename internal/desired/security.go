package desired

import (
	corev1 "k8s.io/api/core/v1"
)

// PodSecurity is the security context of every pod: the restricted standard, under one numeric
// user who also owns the volumes.
func PodSecurity(user int64) *corev1.PodSecurityContext {
	yes, onMismatch := true, corev1.FSGroupChangeOnRootMismatch
	uid, gid, fsGroup := user, user, user
	return &corev1.PodSecurityContext{
		RunAsNonRoot: &yes,
		RunAsUser:    &uid,
		RunAsGroup:   &gid,
		FSGroup:      &fsGroup,
		// Changing the owner of every file would delay the start of a large member by minutes.
		FSGroupChangePolicy: &onMismatch,
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// ContainerSecurity is the security context of every container.
func ContainerSecurity() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		RunAsNonRoot:             &yes,
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   &yes,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}
