package lab

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	dbv1 "github.com/holdfast-dev/holdfast/api/v1"
)

// poll is how often a wait looks again.
const poll = 50 * time.Millisecond

// Lab is a connection to the cluster under test.
type Lab struct {
	Client    client.WithWatch
	Clientset kubernetes.Interface
	Config    *rest.Config
}

// Open connects to the cluster that a kubeconfig names.
func Open(kubeconfig string) (*Lab, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	// The test must not wait for itself: its own throttle would be in every figure.
	config.QPS, config.Burst = 500, 1000
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, dbv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make clientset: %w", err)
	}
	return &Lab{Client: c, Clientset: clientset, Config: config}, nil
}

// LabelTest marks the namespaces that tests make, so that a failed spec can collect them and an
// aborted run can be cleared away.
const LabelTest = "holdfast-test"

// NewNamespace makes a namespace that admits only restricted pods.
func (l *Lab) NewNamespace(ctx context.Context, prefix string) (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: prefix + "-",
		Labels: map[string]string{
			LabelTest:                                    "true",
			"pod-security.kubernetes.io/enforce":         "restricted",
			"pod-security.kubernetes.io/enforce-version": "latest",
		},
	}}
	if err := l.Client.Create(ctx, ns); err != nil {
		return "", fmt.Errorf("make namespace %s: %w", prefix, err)
	}
	return ns.Name, nil
}

// TestNamespaces are the namespaces that tests made and that are not being deleted.
func (l *Lab) TestNamespaces(ctx context.Context) ([]string, error) {
	list := &corev1.NamespaceList{}
	if err := l.Client.List(ctx, list, client.HasLabels{LabelTest}); err != nil {
		return nil, fmt.Errorf("list the namespaces of tests: %w", err)
	}
	var names []string
	for _, ns := range list.Items {
		if ns.DeletionTimestamp == nil {
			names = append(names, ns.Name)
		}
	}
	return names, nil
}

// DeleteNamespace removes the RedisClusters of a namespace, then the namespace, and returns when it is gone.
func (l *Lab) DeleteNamespace(ctx context.Context, name string) error {
	if err := l.Client.DeleteAllOf(ctx, &dbv1.RedisCluster{}, client.InNamespace(name)); err != nil {
		return fmt.Errorf("delete the RedisClusters of %s: %w", name, err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(l.Client.Delete(ctx, ns)); err != nil {
		return fmt.Errorf("delete namespace %s: %w", name, err)
	}
	return Until(ctx, "namespace "+name+" is gone", func(ctx context.Context) error {
		err := l.Client.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it is %s", ns.Status.Phase)
	})
}

// Until repeats a check until it returns nil. When ctx ends, the error says what the check said last.
func Until(ctx context.Context, what string, check func(context.Context) error) error {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	started := time.Now()
	last := check(ctx)
	for last != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s until %s: %w", time.Since(started).Round(time.Millisecond), what, last)
		case <-ticker.C:
		}
		if err := check(ctx); err == nil || ctx.Err() == nil {
			last = err
		}
	}
	return nil
}
