package desired

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/naming"
)

// Backend is a pod that a Service leads to.
type Backend struct {
	Pod string
	UID types.UID
	// Addresses of the pod, of every family it has.
	Addresses []string
	Node      string
}

// SliceInput is what an EndpointSlice is made of.
type SliceInput struct {
	// Service that the slice belongs to; the slice has its name.
	Service string
	// Family of the addresses. It can never change, so it comes from the Service: see FamilyOf.
	Family   discoveryv1.AddressType
	Ports    []Port
	Backends []Backend
}

// FamilyOf returns the address family that a live Service serves first; IPv4 where it is not known yet.
func FamilyOf(service *corev1.Service) discoveryv1.AddressType {
	if service != nil && len(service.Spec.IPFamilies) > 0 && service.Spec.IPFamilies[0] == corev1.IPv6Protocol {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}

// EndpointSlice leads a Service without selector to the given pods, and to no other: an empty list
// leads nowhere. A pod without an address of the family is an error, since leaving it out would
// look like a decision.
func EndpointSlice(id Identity, in SliceInput) (*discoveryv1.EndpointSlice, error) {
	meta := id.meta(in.Service)
	meta.Labels[naming.LabelServiceName] = in.Service
	meta.Labels[naming.LabelSliceManagedBy] = naming.SliceManagedBy
	slice := &discoveryv1.EndpointSlice{
		TypeMeta:    metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta:  meta,
		AddressType: in.Family,
		Endpoints:   make([]discoveryv1.Endpoint, 0, len(in.Backends)),
		Ports:       slicePorts(in.Ports),
	}
	backends := slices.SortedFunc(slices.Values(in.Backends), func(a, b Backend) int { return strings.Compare(a.Pod, b.Pod) })
	for _, b := range backends {
		address, err := addressOf(b, in.Family)
		if err != nil {
			return nil, fmt.Errorf("route service %s: %w", in.Service, err)
		}
		slice.Endpoints = append(slice.Endpoints, endpoint(id, b, address))
	}
	return slice, nil
}

func endpoint(id Identity, b Backend, address string) discoveryv1.Endpoint {
	yes, no := true, false
	e := discoveryv1.Endpoint{
		Addresses: []string{address},
		// The operator routes only to members that serve, so readiness of the pod is no longer asked.
		Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: id.Namespace, Name: b.Pod, UID: b.UID},
	}
	if b.Node != "" {
		node := b.Node
		e.NodeName = &node
	}
	return e
}

func addressOf(b Backend, family discoveryv1.AddressType) (string, error) {
	for _, a := range b.Addresses {
		ip, err := netip.ParseAddr(a)
		if err != nil {
			return "", fmt.Errorf("pod %s: %w", b.Pod, err)
		}
		if ip.Is4() == (family == discoveryv1.AddressTypeIPv4) {
			return a, nil
		}
	}
	return "", fmt.Errorf("pod %s has no %s address among %v", b.Pod, family, b.Addresses)
}

func slicePorts(ports []Port) []discoveryv1.EndpointPort {
	out := make([]discoveryv1.EndpointPort, 0, len(ports))
	for _, p := range ports {
		name, number, tcp := p.Name, p.Number, corev1.ProtocolTCP
		out = append(out, discoveryv1.EndpointPort{Name: &name, Port: &number, Protocol: &tcp})
	}
	return out
}
