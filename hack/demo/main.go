package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/redis/go-redis/v9"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// silent keeps the client library from logging each refused connection: the history records them.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func main() {
	redis.SetLogger(silent{})
	// What the Kubernetes libraries say in passing is either in an error or of no use to the spectator.
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := optionsOf()
	if err == nil {
		err = newDemo(o, newScreen(os.Stdout)).run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, lastLine(ctx, err))
		os.Exit(1)
	}
}

// optionsOf reads flags and environment. make sets CLUSTER, KUBECONFIG and DEVCLUSTER.
func optionsOf() (options, error) {
	o := options{target: targetGiven, operator: operatorBuilt, kubeconfig: os.Getenv("KUBECONFIG"), devcluster: os.Getenv("DEVCLUSTER"), kubectl: "kubectl"}
	keep := flag.Bool("keep-operator", false, "use the operator that is deployed, do not build and deploy this tree's")
	flag.Parse()
	if *keep {
		o.operator = operatorKept
	}
	repository, err := os.Getwd()
	if err != nil {
		return o, fmt.Errorf("find the repository: %w", err)
	}
	o.repository = repository
	local := filepath.Join(repository, ".devcluster", "kubeconfig")
	if o.kubeconfig == "" {
		o.kubeconfig = local
	}
	if os.Getenv("CLUSTER") == "local" || o.kubeconfig == local {
		o.target = targetLocal
	}
	if _, err := exec.LookPath("kubectl"); err != nil {
		o.kubectl = "hack/kubectl.sh"
	}
	return o, nil
}
