package addons

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestTheManifestsAreComplete(t *testing.T) {
	t.Parallel()
	rendered, err := Render(Values{Provisioner: "p/q", CoreDNSImage: "coredns:1", DNSService: "198.19.0.10"})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]unstructured.Unstructured{}
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		kinds[object.GetKind()] = object
	}
	for kind, check := range map[string]func(map[string]any) bool{
		"StorageClass": func(o map[string]any) bool {
			return o["provisioner"] == "p/q" && o["volumeBindingMode"] == "WaitForFirstConsumer"
		},
		"Service": func(o map[string]any) bool {
			address, _, _ := unstructured.NestedString(o, "spec", "clusterIP")
			return address == "198.19.0.10"
		},
		"DaemonSet": func(o map[string]any) bool {
			containers, _, _ := unstructured.NestedSlice(o, "spec", "template", "spec", "containers")
			return len(containers) == 1 && containers[0].(map[string]any)["image"] == "coredns:1"
		},
		"ConfigMap":          func(o map[string]any) bool { return o["data"] != nil },
		"ServiceAccount":     func(o map[string]any) bool { return o["metadata"] != nil },
		"ClusterRole":        func(o map[string]any) bool { return o["rules"] != nil },
		"ClusterRoleBinding": func(o map[string]any) bool { return o["subjects"] != nil },
	} {
		object, found := kinds[kind]
		if !found || !check(object.Object) {
			t.Errorf("%s is not as it should be: %v", kind, object.Object)
		}
	}
}
