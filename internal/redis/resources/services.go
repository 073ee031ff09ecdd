package resources

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/naming"
)

// HeadlessService names the pods.
func HeadlessService(c *v1.RedisCluster) *corev1.Service {
	return desired.HeadlessService(Identity(c), naming.HeadlessService(c.Name), clientPort())
}

// PrimaryService leads to the primary, once PrimarySlice says so.
func PrimaryService(c *v1.RedisCluster) *corev1.Service {
	return routed(c, naming.PrimaryService(c.Name))
}

// ReplicaService leads to the replicas, once ReplicaSlice says so.
func ReplicaService(c *v1.RedisCluster) *corev1.Service {
	return routed(c, naming.ReplicaService(c.Name))
}

func routed(c *v1.RedisCluster, name string) *corev1.Service {
	return desired.RoutedService(Identity(c), desired.RoutedInput{
		Name:        name,
		Type:        c.Spec.Service.Type,
		Annotations: c.Spec.Service.Annotations,
		Ports:       []desired.Port{clientPort()},
	})
}

// PrimarySlice routes the primary Service to the given pod, or nowhere for nil.
func PrimarySlice(c *v1.RedisCluster, family discoveryv1.AddressType, primary *desired.Backend) (*discoveryv1.EndpointSlice, error) {
	var backends []desired.Backend
	if primary != nil {
		backends = append(backends, *primary)
	}
	return slice(c, naming.PrimaryService(c.Name), family, backends)
}

// ReplicaSlice routes the replica Service to the given pods.
func ReplicaSlice(c *v1.RedisCluster, family discoveryv1.AddressType, replicas []desired.Backend) (*discoveryv1.EndpointSlice, error) {
	return slice(c, naming.ReplicaService(c.Name), family, replicas)
}

func slice(c *v1.RedisCluster, service string, family discoveryv1.AddressType, backends []desired.Backend) (*discoveryv1.EndpointSlice, error) {
	return desired.EndpointSlice(Identity(c), desired.SliceInput{
		Service: service, Family: family, Ports: []desired.Port{clientPort()}, Backends: backends,
	})
}

// PodDisruptionBudget of the members.
func PodDisruptionBudget(c *v1.RedisCluster) *policyv1.PodDisruptionBudget {
	return desired.PodDisruptionBudget(Identity(c), naming.PodDisruptionBudget(c.Name))
}

// Manager says where the operator's own pods are.
type Manager struct {
	Namespace string
	// Labels that select its pods.
	Labels map[string]string
}

// NetworkPolicy of the members.
func NetworkPolicy(c *v1.RedisCluster, manager Manager) *networkingv1.NetworkPolicy {
	clients := desired.ClientsInCluster
	if t := c.Spec.Service.Type; t == corev1.ServiceTypeNodePort || t == corev1.ServiceTypeLoadBalancer {
		clients = desired.ClientsAnywhere
	}
	return desired.NetworkPolicy(Identity(c), desired.NetworkInput{
		Name:             naming.NetworkPolicy(c.Name),
		ManagerNamespace: manager.Namespace,
		ManagerLabels:    manager.Labels,
		ClientPorts:      []int32{naming.RedisPort},
		AgentPort:        naming.AgentPort,
		MetricsPort:      naming.ProbePort,
		Clients:          clients,
	})
}
