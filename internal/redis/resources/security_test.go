package resources_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/internal/desired"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
)

func template(t *testing.T, c *v1.RedisCluster) *corev1.PodTemplateSpec {
	t.Helper()
	set, err := resources.StatefulSet(input(t, c))
	if err != nil {
		t.Fatalf("build stateful set: %v", err)
	}
	return &set.Spec.Template
}

func allClusters() map[string]*v1.RedisCluster {
	return map[string]*v1.RedisCluster{"durable": durable(), "everything": everything(), "ephemeral": ephemeral()}
}

func evaluate(t *testing.T, pod *corev1.PodTemplateSpec) []policy.CheckResult {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatalf("make evaluator: %v", err)
	}
	restricted := psa.LevelVersion{Level: psa.LevelRestricted, Version: psa.LatestVersion()}
	return evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec)
}

func TestPodsMeetTheRestrictedStandard(t *testing.T) {
	t.Parallel()
	for name, c := range allClusters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range evaluate(t, template(t, c)) {
				if !r.Allowed {
					t.Errorf("refused: %s: %s", r.ForbiddenReason, r.ForbiddenDetail)
				}
			}
		})
	}
}

// Proves that the check above can fail.
func TestTheRestrictedCheckSeesAPrivilegeAdded(t *testing.T) {
	t.Parallel()
	pod := template(t, durable())
	pod.Spec.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
	if policy.AggregateCheckResults(evaluate(t, pod)).Allowed {
		t.Error("a pod with NET_ADMIN was allowed")
	}
}

func TestEveryContainerIsLockedDown(t *testing.T) {
	t.Parallel()
	for name, c := range allClusters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := template(t, c)
			for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
				s := container.SecurityContext
				if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
					t.Errorf("container %s can write to its root", container.Name)
				}
				for _, e := range container.Env {
					if e.ValueFrom == nil || e.ValueFrom.FieldRef == nil {
						t.Errorf("container %s gets %s by environment: only names and addresses of the pod may come that way", container.Name, e.Name)
					}
				}
			}
			if pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken {
				t.Error("the pod gets a token of the API server")
			}
		})
	}
}

func TestOnlyTheAgentCertificateIsMounted(t *testing.T) {
	t.Parallel()
	for _, v := range template(t, everything()).Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName != naming.AgentTLSSecret("cart") {
			t.Errorf("volume %s mounts Secret %s", v.Name, v.Secret.SecretName)
		}
		if v.HostPath != nil || v.Projected != nil || v.ConfigMap != nil {
			t.Errorf("volume %s is of a kind that no member needs", v.Name)
		}
	}
}

func TestEveryObjectIsLabelledAndInTheClusterNamespace(t *testing.T) {
	t.Parallel()
	for name, c := range allClusters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range objects(t, c, discoveryv1.AddressTypeIPv4) {
				if o.GetNamespace() != c.Namespace {
					t.Errorf("%T %s is in namespace %q", o, o.GetName(), o.GetNamespace())
				}
				if l := o.GetLabels(); l[naming.LabelManagedBy] != naming.ManagedBy || l[naming.LabelCluster] != c.Name {
					t.Errorf("%T %s has labels %v", o, o.GetName(), l)
				}
				if o.GetObjectKind().GroupVersionKind().Empty() {
					t.Errorf("%T %s has no kind: it cannot be applied", o, o.GetName())
				}
			}
		})
	}
}

func TestUsersMetadataNeverReplacesOurs(t *testing.T) {
	t.Parallel()
	pod := template(t, everything())
	if got := pod.Labels[naming.LabelName]; got != "valkey" {
		t.Errorf("label %s is %q", naming.LabelName, got)
	}
	if got := pod.Annotations[naming.AnnotationRestartParts]; got == "forged" {
		t.Error("the record of restart parts was forged")
	}
	if pod.Labels["team"] != "checkout" {
		t.Error("the user's label is missing")
	}
}

func TestABackendWithoutAnAddressOfTheFamilyIsAnError(t *testing.T) {
	t.Parallel()
	pod := desired.Backend{Pod: "shop-0", UID: "u", Addresses: []string{"10.0.0.1"}}
	if s, err := resources.PrimarySlice(durable(), discoveryv1.AddressTypeIPv6, &pod); err == nil {
		t.Errorf("got %v", s.Endpoints)
	}
	if s, err := resources.PrimarySlice(durable(), discoveryv1.AddressTypeIPv4, nil); err != nil || len(s.Endpoints) != 0 {
		t.Errorf("no primary: got %v, %v", s, err)
	}
}
