package manifests_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	root      = "../../.."
	namespace = "holdfast-system"
)

func TestTheAPIServerTakesTheManifests(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := start(t)

	for _, object := range build(t, "config/default") {
		apply(ctx, t, server, object)
	}
	t.Run("the manager's pod meets the restricted standard", func(t *testing.T) {
		var deployment appsv1.Deployment
		key := client.ObjectKey{Namespace: namespace, Name: "holdfast-controller-manager"}
		if err := server.Get(ctx, key, &deployment); err != nil {
			t.Fatal(err)
		}
		template := deployment.Spec.Template
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe", Labels: template.Labels},
			Spec:       template.Spec,
		}
		// The namespace enforces the standard, so that the API server judges.
		if err := server.Create(ctx, pod); err != nil {
			t.Error(err)
		}
	})
	t.Run("the namespace refuses a pod that does not", func(t *testing.T) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "careless"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "shell", Image: "shell"}}},
		}
		if err := server.Create(ctx, pod); err == nil {
			t.Error("a pod without a security context was taken: the namespace enforces nothing")
		}
	})
	t.Run("the samples are valid", func(t *testing.T) {
		for _, sample := range build(t, "config/samples") {
			sample.SetNamespace("default")
			waitForKind(ctx, t, server, sample.GroupVersionKind())
			if err := server.Create(ctx, sample, client.FieldValidation("Strict")); err != nil {
				t.Error(err)
			}
		}
	})
}

func start(t *testing.T) client.Client {
	t.Helper()
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("start the API server, run make envtest: %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	server, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// build runs the pinned kustomize, as make deploy does.
func build(t *testing.T, directory string) []*unstructured.Unstructured {
	t.Helper()
	out, err := exec.Command(filepath.Join(root, "bin", "kustomize"), "build", filepath.Join(root, directory)).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("build %s: %s", directory, failed.Stderr)
		}
		t.Fatalf("build %s, run make tools first: %v", directory, err)
	}
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		t.Fatalf("%s holds no object", directory)
	}
	return objects
}

// apply is strict: a field that the API server does not know is a mistake of ours.
func apply(ctx context.Context, t *testing.T, server client.Client, object *unstructured.Unstructured) {
	t.Helper()
	err := server.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
		client.FieldOwner("manifests-test"), client.ForceOwnership)
	if err != nil {
		t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
}

// waitForKind returns when the API server serves a kind, which it does shortly after the CRD is there.
func waitForKind(ctx context.Context, t *testing.T, server client.Client, kind schema.GroupVersionKind) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		last = server.List(ctx, list)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s is not served: %v", kind, last)
	}
}
