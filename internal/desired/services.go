package desired

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Port is a named TCP port.
type Port struct {
	Name   string
	Number int32
}

// HeadlessService gives each pod a DNS name whether it is ready or not, since members must find
// each other while none is ready.
func HeadlessService(id Identity, name string, ports ...Port) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: id.meta(name),
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceTypeClusterIP,
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 maps.Clone(id.Selector),
			Ports:                    servicePorts(ports),
		},
	}
}

// RoutedInput shapes a Service that the operator routes itself.
type RoutedInput struct {
	Name string
	Type corev1.ServiceType
	// Annotations of the user.
	Annotations map[string]string
	Ports       []Port
}

// RoutedService has no selector: Kubernetes routes it nowhere until an EndpointSlice of ours
// says where. So a change of primary is one atomic write.
func RoutedService(id Identity, in RoutedInput) *corev1.Service {
	kind := in.Type
	if kind == "" {
		kind = corev1.ServiceTypeClusterIP
	}
	meta := id.meta(in.Name)
	meta.Annotations = maps.Clone(in.Annotations)
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Type:  kind,
			Ports: servicePorts(in.Ports),
		},
	}
}

func servicePorts(ports []Port) []corev1.ServicePort {
	out := make([]corev1.ServicePort, 0, len(ports))
	for _, p := range ports {
		out = append(out, corev1.ServicePort{
			Name: p.Name, Port: p.Number, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(p.Number),
		})
	}
	return out
}
