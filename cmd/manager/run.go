package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"go.uber.org/zap/zapcore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
	"github.com/holdfast-dev/holdfast/controllers/rediscluster"
	"github.com/holdfast-dev/holdfast/internal/apply"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/redis/resources"
	"github.com/holdfast-dev/holdfast/internal/scrape"
	"github.com/holdfast-dev/holdfast/internal/watches"
)

// The lease of the leading manager. It is released on exit, so a planned change of leader takes a moment.
const (
	leaseName     = "manager.db.holdfast.dev"
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// The client's limits: a failover must not wait for a token because a hundred clusters were just looked at.
const (
	clientQPS   = 200
	clientBurst = 400
)

// gcPercent bounds the garbage to half of what is in use: with a hundred clusters that saves a sixth of
// the memory and costs a few thousandths of a core.
const gcPercent = 50

func run(ctx context.Context, o options) error {
	if err := o.validate(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	level := zapcore.InfoLevel
	if o.verbose {
		level = zapcore.DebugLevel
	}
	// Nanoseconds, so that a line can be put in order with those of the servers.
	ctrl.SetLogger(zap.New(zap.UseDevMode(false), zap.Level(level), zap.JSONEncoder(func(e *zapcore.EncoderConfig) {
		e.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	})))
	file, err := watches.Load(o.watchesFile)
	if err != nil {
		return err
	}
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	if err := wire(mgr, file, o); err != nil {
		return err
	}
	ctrl.Log.Info("starting manager", "version", version)
	return mgr.Start(ctx)
}

func newManager(o options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build scheme: %w", err)
	}
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build scheme: %w", err)
	}
	cached, err := cachedObjects()
	if err != nil {
		return nil, err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	lock, err := leaseLock(config, o)
	if err != nil {
		return nil, err
	}
	lease, renew, retry := leaseDuration, renewDeadline, retryPeriod
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache:  cache.Options{ByObject: cached},
		Metrics: metricsserver.Options{
			BindAddress: o.metricsAddress, SecureServing: true,
			FilterProvider: scrape.Authorized,
		},
		HealthProbeBindAddress:              o.probeAddress,
		LeaderElection:                      o.leaderElect,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &lease,
		RenewDeadline:                       &renew,
		RetryPeriod:                         &retry,
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	return mgr, nil
}

// leaseLock holds the lease under the pod's name. A manager that is killed and restarted in its pod then
// takes its own lease back at once: the process that held it is surely dead.
func leaseLock(config *rest.Config, o options) (resourcelock.Interface, error) {
	clients, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "leader-election"))
	if err != nil {
		return nil, fmt.Errorf("make the client of the lease: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.namespace, Name: leaseName},
		Client:     clients.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: o.podName},
	}, nil
}

// wire connects the reconcilers with what they use, and checks that watches.yaml names exactly them.
func wire(mgr ctrl.Manager, file watches.File, o options) error {
	waker := rediscluster.NewWaker()
	streams := fleet.New(fleet.Options{Wake: waker.Wake, Logger: ctrl.Log.WithName("fleet")})
	reconciler := rediscluster.New(rediscluster.Options{
		Client: mgr.GetClient(), Applier: apply.New(mgr.GetClient(), mgr.GetAPIReader()), Live: mgr.GetAPIReader(),
		Fleet: streams, Recorder: mgr.GetEventRecorder("holdfast"), AgentImage: o.agentImage,
		Images:  resources.Images{Redis: o.redisImage, Valkey: o.valkeyImage},
		Manager: resources.Manager{Namespace: o.namespace, Labels: naming.ManagerLabels()},
	})
	kind := v1.GroupVersion.WithKind("RedisCluster")
	entry, ok := file.For(kind)
	if !ok || len(file.Entries) != 1 {
		return fmt.Errorf("%s must have exactly one entry for each of the kinds that this manager reconciles: %s", o.watchesFile, kind)
	}
	if err := reconciler.SetupWithManager(mgr, entry, waker.Events()); err != nil {
		return err
	}
	for _, runnable := range []interface {
		Start(context.Context) error
	}{waker, streams} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("add to the manager: %w", err)
		}
	}
	metrics.Registry.MustRegister(rediscluster.Collectors()...)
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add liveness check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}
