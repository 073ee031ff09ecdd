package desired_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/naming"
)

func identity() desired.Identity {
	return desired.Identity{Namespace: "prod", Labels: labels{"a": "b"}, Selector: labels{"c": "d"}}
}

func TestFamilyOf(t *testing.T) {
	t.Parallel()
	service := func(families ...corev1.IPFamily) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: families}}
	}
	cases := map[string]struct {
		service *corev1.Service
		want    discoveryv1.AddressType
	}{
		"no service yet":             {nil, discoveryv1.AddressTypeIPv4},
		"a service without families": {service(), discoveryv1.AddressTypeIPv4},
		"IPv4":                       {service(corev1.IPv4Protocol), discoveryv1.AddressTypeIPv4},
		"IPv6":                       {service(corev1.IPv6Protocol), discoveryv1.AddressTypeIPv6},
		"dual stack, led by IPv6":    {service(corev1.IPv6Protocol, corev1.IPv4Protocol), discoveryv1.AddressTypeIPv6},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := desired.FamilyOf(c.service); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func backend(name string, addresses ...string) desired.Backend {
	return desired.Backend{Pod: name, UID: "u", Addresses: addresses, Node: "n"}
}

func TestASliceHasTheAddressOfItsFamily(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		family  discoveryv1.AddressType
		backend desired.Backend
		want    string
	}{
		"IPv4 of two":               {discoveryv1.AddressTypeIPv4, backend("a", "fd00::1", "10.0.0.1"), "10.0.0.1"},
		"IPv6 of two":               {discoveryv1.AddressTypeIPv6, backend("a", "10.0.0.1", "fd00::1"), "fd00::1"},
		"none of the family":        {discoveryv1.AddressTypeIPv6, backend("a", "10.0.0.1"), ""},
		"no address at all":         {discoveryv1.AddressTypeIPv4, backend("a"), ""},
		"something else than an IP": {discoveryv1.AddressTypeIPv4, backend("a", "shop-0.shop"), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := desired.EndpointSlice(identity(), desired.SliceInput{Service: "s", Family: c.family, Backends: []desired.Backend{c.backend}})
			if c.want == "" {
				if err == nil {
					t.Errorf("routed to %v", s.Endpoints)
				}
				return
			}
			if err != nil || s.Endpoints[0].Addresses[0] != c.want {
				t.Errorf("got %v, %v", s, err)
			}
		})
	}
}

func TestTheOrderOfBackendsDoesNotMatter(t *testing.T) {
	t.Parallel()
	backends := []desired.Backend{backend("a", "10.0.0.1"), backend("b", "10.0.0.2"), backend("c", "10.0.0.3")}
	in := desired.SliceInput{Service: "s", Family: discoveryv1.AddressTypeIPv4, Backends: backends}
	want, err := desired.EndpointSlice(identity(), in)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		in := in
		in.Backends = rapid.Permutation(backends).Draw(t, "order")
		got, err := desired.EndpointSlice(identity(), in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("another slice:\n%s", diff)
		}
	})
}

// A builder that keeps its input would let one cluster's change reach another's object.
func TestObjectsShareNothingWithTheirInput(t *testing.T) {
	t.Parallel()
	id := identity()
	annotations := labels{"x": "y"}
	service := desired.RoutedService(id, desired.RoutedInput{Name: "s", Annotations: annotations})
	headless := desired.HeadlessService(id, "h")
	service.Labels["changed"], service.Annotations["changed"], headless.Spec.Selector["changed"] = "1", "1", "1"
	if len(id.Labels) != 1 || len(id.Selector) != 1 || len(annotations) != 1 {
		t.Errorf("the input was changed: %v %v", id, annotations)
	}
}

func TestARoutedServiceHasNoSelector(t *testing.T) {
	t.Parallel()
	if s := desired.RoutedService(identity(), desired.RoutedInput{Name: "s"}); len(s.Spec.Selector) != 0 || s.Spec.Type != corev1.ServiceTypeClusterIP {
		t.Errorf("got %+v", s.Spec)
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	soft := desired.Spread(identity(), nil)
	if len(soft) != 2 || soft[0].WhenUnsatisfiable != corev1.ScheduleAnyway || soft[1].TopologyKey != corev1.LabelHostname {
		t.Errorf("the default is %+v", soft)
	}
	selector := &metav1.LabelSelector{MatchLabels: labels{"own": "1"}}
	users := desired.Spread(identity(), []corev1.TopologySpreadConstraint{{TopologyKey: "rack"}, {TopologyKey: "row", LabelSelector: selector}})
	if len(users) != 2 || users[0].LabelSelector.MatchLabels["c"] != "d" || users[1].LabelSelector.MatchLabels["own"] != "1" {
		t.Errorf("the user's are %+v", users)
	}
}

func TestClientsFromAnywhereAreLetInOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	open := func(scope desired.ClientScope) bool {
		policy := desired.NetworkPolicy(identity(), desired.NetworkInput{Name: "n", ClientPorts: []int32{naming.RedisPort}, AgentPort: 1, MetricsPort: 2, Clients: scope})
		for _, rule := range policy.Spec.Ingress {
			if len(rule.From) == 0 {
				return true
			}
		}
		return false
	}
	if open(desired.ClientsInCluster) {
		t.Error("a port is open to everybody")
	}
	if !open(desired.ClientsAnywhere) {
		t.Error("a load balancer's clients are shut out")
	}
}
