package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/hack/bench/idle"
)

// managerNamespace and managerAccount are the names in config/rbac.
const (
	managerNamespace = "system"
	managerAccount   = "controller-manager"
)

// apiServer is a real one, with the operator's CRDs and roles.
type apiServer struct {
	environment *envtest.Environment
	config      *rest.Config
	client      client.Client
	audit       string
}

func startAPIServer(o idle.Options, dir string) (*apiServer, error) {
	s := &apiServer{
		audit: filepath.Join(dir, "audit.log"),
		environment: &envtest.Environment{
			BinaryAssetsDirectory: o.Assets,
			CRDDirectoryPaths:     []string{filepath.Join(o.Root, "config", "crd", "bases")},
			ErrorIfCRDPathMissing: true,
		},
	}
	policy := filepath.Join(dir, "audit.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	server := s.environment.ControlPlane.GetAPIServer()
	server.Configure().
		Set("service-cluster-ip-range", serviceRange).
		Set("advertise-address", ownAddress).
		Set("audit-policy-file", policy).
		Set("audit-log-path", s.audit)
	config, err := s.environment.Start()
	if err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	// What the simulation does must not wait for its own throttle.
	config.QPS = -1
	s.config = config
	return s, nil
}

func (s *apiServer) stop() error {
	if err := s.environment.Stop(); err != nil {
		return fmt.Errorf("stop the API server: %w", err)
	}
	return nil
}

// install makes the client, and the roles that the manager has in a real cluster.
func (s *apiServer) install(ctx context.Context, root string) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build scheme: %w", err)
	}
	var err error
	if s.client, err = client.New(s.config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: managerNamespace}}
	if err := s.client.Create(ctx, namespace); err != nil {
		return fmt.Errorf("make the manager's namespace: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(root, "config", "rbac", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("find roles: %d files: %w", len(files), err)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		if err := s.create(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// create makes the objects of a file; those that are bound to a namespace go to the manager's.
func (s *apiServer) create(ctx context.Context, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read roles: %w", err)
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("decode %s: %w", file, err)
		}
		if len(o.Object) == 0 {
			continue
		}
		namespaced, err := s.client.IsObjectNamespaced(o)
		if err != nil {
			return fmt.Errorf("find out about %s: %w", o.GetKind(), err)
		}
		if namespaced {
			o.SetNamespace(managerNamespace)
		}
		if err := s.client.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
}

// token of the manager's own account, so that it has the rights that it has in a cluster.
func (s *apiServer) token(ctx context.Context) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: managerAccount}}
	seconds := int64((2 * time.Hour).Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := s.client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("ask for the manager's token: %w", err)
	}
	return request.Status.Token, nil
}
