package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Secret holds data that only the operator, the pods that mount it, or a client may read.
func Secret(id Identity, name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: id.meta(name),
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
}
