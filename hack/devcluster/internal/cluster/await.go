package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/addons"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
)

const (
	pollInterval      = 100 * time.Millisecond
	registryPatience  = 15 * time.Second
	apiServerPatience = 2 * time.Minute
	readyPatience     = 3 * time.Minute
)

// poll repeats a check until it passes; the last complaint is the error.
func poll(ctx context.Context, patience time.Duration, check func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %w", patience, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(pollInterval):
		}
	}
}

func (c *Cluster) awaitAPIServer(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	return poll(ctx, apiServerPatience, func() error {
		err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Timeout(time.Second).Do(ctx).Error()
		if err != nil {
			return fmt.Errorf("the API server is not ready: %w: see devcluster logs kube-apiserver", err)
		}
		return nil
	})
}

// awaitReady waits until all nodes and their DNS servers are ready.
func (c *Cluster) awaitReady(ctx context.Context, nodes []int) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	steps := []struct {
		label string
		check func() error
	}{
		{"all nodes are ready", func() error { return nodesReady(ctx, client, nodes) }},
		{"CoreDNS is ready", func() error { return dnsReady(ctx, client, nodes) }},
	}
	for _, step := range steps {
		wait := func() error { return poll(ctx, readyPatience, step.check) }
		if err := c.Progress.Step(step.label, wait); err != nil {
			return err
		}
	}
	return nil
}

func nodesReady(ctx context.Context, client kubernetes.Interface, nodes []int) error {
	ready, err := readyNodes(ctx, client)
	if err != nil {
		return err
	}
	var missing []string
	for _, i := range nodes {
		if name := network.NodeName(i); !slices.Contains(ready, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not ready: %s: see devcluster logs %s-kubelet", strings.Join(missing, ", "), missing[0])
	}
	return nil
}

func readyNodes(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	list, err := client.CoreV1().Nodes().List(ctx, meta.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var ready []string
	for _, item := range list.Items {
		for _, condition := range item.Status.Conditions {
			if condition.Type == core.NodeReady && condition.Status == core.ConditionTrue {
				ready = append(ready, item.Name)
			}
		}
	}
	return ready, nil
}

func dnsReady(ctx context.Context, client kubernetes.Interface, nodes []int) error {
	set, err := client.AppsV1().DaemonSets(addons.Namespace).Get(ctx, addons.DNSName, meta.GetOptions{})
	if err != nil {
		return fmt.Errorf("get the DaemonSet of CoreDNS: %w", err)
	}
	if set.Status.ObservedGeneration < set.Generation {
		return errors.New("the DaemonSet of CoreDNS is not acted on: see devcluster logs kube-controller-manager")
	}
	if int(set.Status.NumberReady) < len(nodes) {
		return fmt.Errorf("%d of %d CoreDNS pods are ready: see kubectl -n %s get pods", set.Status.NumberReady, len(nodes), addons.Namespace)
	}
	return nil
}
