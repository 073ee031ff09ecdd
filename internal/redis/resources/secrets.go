package resources

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Secret of the operator: certificates, and passwords that clients do not need.
func Secret(c *v1.RedisCluster, name string, data map[string][]byte) *corev1.Secret {
	return desired.Secret(Identity(c), name, data)
}

// AuthSecret is the generated Secret from which clients take user and password.
func AuthSecret(c *v1.RedisCluster, name, password string) *corev1.Secret {
	return desired.Secret(Identity(c), name, map[string][]byte{
		naming.KeyUsername: []byte(naming.UserDefault),
		naming.KeyPassword: []byte(password),
	})
}
