package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/testkit/lab"
)

// answerLimit bounds the question whether a cluster answers.
const answerLimit = 5 * time.Second

// prepare sees to a cluster that answers and to the operator on it.
func (d *demo) prepare(ctx context.Context) error {
	if err := d.bringUp(ctx); err != nil {
		return err
	}
	if d.operator == operatorKept {
		return d.screen.do("look at the operator", func(*step) (string, error) { return d.keepOperator(ctx) })
	}
	err := d.screen.do("build the operator and load its image", func(st *step) (string, error) {
		return "operator built, image loaded", d.make(ctx, st, "images")
	})
	if err != nil {
		return advise(err, d.imageAdvice())
	}
	err = d.screen.do("deploy the operator", func(st *step) (string, error) {
		return "operator deployed", d.make(ctx, st, "deploy")
	})
	return advise(err, "its output is above; look at the pods in the namespace "+lab.ManagerNamespace+" and run make demo again")
}

func (d *demo) imageAdvice() string {
	if d.target == targetGiven {
		return "your cluster must be able to pull the operator's image: make docker-build docker-push demo IMG=REGISTRY/NAME:TAG"
	}
	return "its output is above; mend that and run make demo again"
}

// bringUp connects to the cluster, and starts the local one if it does not answer.
func (d *demo) bringUp(ctx context.Context) error {
	return d.screen.do("look for a cluster", func(st *step) (string, error) {
		nodes, err := d.connect(ctx)
		if err == nil {
			return fmt.Sprintf("cluster answers, %s", nodes), nil
		}
		if d.target == targetGiven {
			return "", advise(err, "check KUBECONFIG="+d.kubeconfig+", or unset it to get a local cluster")
		}
		st.says("none answers, bringing up a local one (the first time Kubernetes is compiled: some ten minutes)")
		if err := d.make(ctx, st, "cluster-up"); err != nil {
			return "", advise(err, "its output is above; mend that, or clear away with make cluster-down, and run make demo again")
		}
		if nodes, err = d.connect(ctx); err != nil {
			return "", advise(err, "ask bin/devcluster status what is wrong")
		}
		return fmt.Sprintf("local cluster is up, %s", nodes), nil
	})
}

// connect opens the cluster and says how many nodes it has. All must be ready on the local one.
func (d *demo) connect(ctx context.Context) (nodes string, err error) {
	if _, err := os.Stat(d.kubeconfig); err != nil && d.target == targetLocal {
		return "", fmt.Errorf("find the local cluster: %w", err)
	}
	if d.lab, err = lab.Open(d.kubeconfig); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	list := &corev1.NodeList{}
	if err := d.lab.Client.List(ctx, list); err != nil {
		return "", fmt.Errorf("ask the cluster for its nodes: %w", err)
	}
	ready := readyNodes(list.Items)
	if ready < len(list.Items) && d.target == targetLocal {
		return "", fmt.Errorf("%d of %d nodes are ready", ready, len(list.Items))
	}
	if ready == 0 {
		return "", errors.New("no node is ready")
	}
	return fmt.Sprintf("%d of %d nodes ready", ready, len(list.Items)), nil
}

func readyNodes(nodes []corev1.Node) int {
	ready := 0
	for _, node := range nodes {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return ready
}

func (d *demo) keepOperator(ctx context.Context) (string, error) {
	pods, err := d.lab.ManagerPods(ctx)
	if err != nil {
		return "", err
	}
	for _, pod := range pods {
		if lab.IsReady(&pod) {
			return "operator that is deployed is kept", nil
		}
	}
	return "", advise(errors.New("no operator is ready on this cluster"), "run the demo without -keep-operator")
}

// readNamespace returns nil if there is none.
func (d *demo) readNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	ns := &corev1.Namespace{}
	err := d.lab.Client.Get(ctx, types.NamespacedName{Name: name}, ns)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return ns, nil
}
