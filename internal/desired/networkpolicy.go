package desired

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

const dnsPort = 53

// NetworkInput says who may talk to whom.
type NetworkInput struct {
	Name string
	// ManagerNamespace and ManagerLabels find the pods of the operator.
	ManagerNamespace string
	ManagerLabels    map[string]string
	// ClientPorts are open to clients, and between members.
	ClientPorts []int32
	// AgentPort is open to the operator, and between members.
	AgentPort int32
	// MetricsPort is open to clients, so that a Prometheus in an allowed namespace can read it.
	MetricsPort int32
	// Clients that may connect.
	Clients ClientScope
}

// ClientScope is where clients may come from.
type ClientScope string

const (
	// ClientsInCluster: pods of the same namespace, and of namespaces labelled db.holdfast.dev/client: "true".
	ClientsInCluster ClientScope = "InCluster"
	// ClientsAnywhere: also from outside of Kubernetes, for a Service of type NodePort or LoadBalancer.
	ClientsAnywhere ClientScope = "Anywhere"
)

// NetworkPolicy closes everything that members do not need. Whether it is enforced depends on the
// cluster's network, so nothing may rely on it alone: every port also asks for credentials.
func NetworkPolicy(id Identity, in NetworkInput) *networkingv1.NetworkPolicy {
	members := []networkingv1.NetworkPolicyPeer{{PodSelector: id.podSelector()}}
	between := append(tcp(in.ClientPorts...), tcp(in.AgentPort)...)
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: id.meta(in.Name),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *id.podSelector(),
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{Ports: between, From: members},
				{Ports: tcp(in.AgentPort), From: []networkingv1.NetworkPolicyPeer{managerPeer(in)}},
				{Ports: tcp(in.ClientPorts...), From: clientPeers(in.Clients)},
				{Ports: tcp(in.MetricsPort), From: clientPeers(ClientsInCluster)},
			},
			Egress: []networkingv1.NetworkPolicyEgressRule{
				{Ports: between, To: members},
				{Ports: dns()},
			},
		},
	}
}

func managerPeer(in NetworkInput) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: in.ManagerNamespace}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: maps.Clone(in.ManagerLabels)},
	}
}

// clientPeers is empty for clients from anywhere: a rule without peers matches all sources.
func clientPeers(scope ClientScope) []networkingv1.NetworkPolicyPeer {
	if scope == ClientsAnywhere {
		return nil
	}
	return []networkingv1.NetworkPolicyPeer{
		{PodSelector: &metav1.LabelSelector{}},
		{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{naming.LabelClient: "true"}}},
	}
}

func tcp(ports ...int32) []networkingv1.NetworkPolicyPort {
	out := make([]networkingv1.NetworkPolicyPort, 0, len(ports))
	for _, p := range ports {
		out = append(out, policyPort(corev1.ProtocolTCP, p))
	}
	return out
}

func dns() []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{policyPort(corev1.ProtocolUDP, dnsPort), policyPort(corev1.ProtocolTCP, dnsPort)}
}

func policyPort(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	port := intstr.FromInt32(number)
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &port}
}
