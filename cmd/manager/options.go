package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// options are the flags of the manager.
type options struct {
	leaderElect    bool
	probeAddress   string
	metricsAddress string
	watchesFile    string
	agentImage     string
	redisImage     string
	valkeyImage    string
	namespace      string
	podName        string
	verbose        bool
}

func (o *options) bind(f *pflag.FlagSet) {
	f.BoolVar(&o.leaderElect, "leader-elect", false, "wait for the lease before doing anything, so that only one manager works")
	f.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "address of the kubelet's probes")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", "address of the metrics, over TLS and only for authorized readers; 0 for none")
	f.StringVar(&o.watchesFile, "watches", "/watches.yaml", "file that says how each kind is reconciled")
	f.StringVar(&o.agentImage, "agent-image", "", "this operator's own image, from which database pods take the agent")
	f.StringVar(&o.redisImage, "redis-image", "redis", "repository of the Redis images that spec.version is looked up in")
	f.StringVar(&o.valkeyImage, "valkey-image", "valkey/valkey", "repository of the Valkey images that spec.version is looked up in")
	f.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace that the manager runs in; the environment's POD_NAMESPACE by default")
	f.StringVar(&o.podName, "pod-name", os.Getenv("POD_NAME"), "name of the manager's pod, under which it holds the lease; the environment's POD_NAME by default")
	f.BoolVar(&o.verbose, "verbose", false, "log the flow of every pass")
}

func (o *options) validate() error {
	var errs []error
	if o.agentImage == "" {
		errs = append(errs, fmt.Errorf("--agent-image is empty: set it to the image that this manager runs from"))
	}
	if o.namespace == "" {
		errs = append(errs, fmt.Errorf("--namespace is empty: set it, or POD_NAMESPACE by the downward API"))
	}
	if o.leaderElect && o.podName == "" {
		errs = append(errs, fmt.Errorf("--pod-name is empty: set it, or POD_NAME by the downward API"))
	}
	return errors.Join(errs...)
}
