package objects_test

import (
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
)

// server is the API server that all tests share; each works in a namespace of its own.
var server struct {
	config *rest.Config
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		fmt.Println("KUBEBUILDER_ASSETS is not set, so there is no API server to ask: run make envtest")
		return 1
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			fmt.Println("build scheme:", err)
			return 1
		}
	}
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"../../../config/crd/bases"}, ErrorIfCRDPathMissing: true}
	config, err := environment.Start()
	if err != nil {
		fmt.Println("start the API server:", err)
		return 1
	}
	// The tests are many and short; throttling would only make them slow.
	config.QPS = -1
	server.config, server.scheme = config, scheme
	code := m.Run()
	if err := environment.Stop(); err != nil {
		fmt.Println("stop the API server:", err)
		return 1
	}
	return code
}

func newClient(t *testing.T) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(server.config, client.Options{Scheme: server.scheme})
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	return c
}

// newNamespace makes a namespace for one test.
func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "objects-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatalf("make namespace: %v", err)
	}
	return ns.Name
}
