package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/agent/exposition"
	"github.com/holdfast-dev/holdfast/internal/naming"
	redisagent "github.com/holdfast-dev/holdfast/internal/redis/agent"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

// flags of agent run. None of them is a secret: those come from the manager, over mutual TLS.
type flags struct {
	engine, cluster, pod, podUID string
	dataDir, runDir, tlsDir      string
	serverName, serverPath       string
	listen, probeListen          string
	serverPort                   int32
	relief                       time.Duration
	verbose                      bool
}

func newRunCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the member of this pod",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.engine, "engine", "", "kind of server: redis (for Redis and Valkey)")
	fs.StringVar(&f.cluster, "cluster", "", "UID of the owning cluster")
	fs.StringVar(&f.pod, "pod", "", "name of this pod")
	fs.StringVar(&f.podUID, "pod-uid", "", "UID of this pod")
	fs.StringVar(&f.serverName, "server-name", "", "DNS name in the certificate that the cluster's agents share")
	fs.StringVar(&f.dataDir, "data-dir", naming.PathDataDir, "directory of the database's files")
	fs.StringVar(&f.runDir, "run-dir", naming.PathRunDir, "directory for the rendered configuration and the socket")
	fs.StringVar(&f.tlsDir, "tls-dir", naming.PathTLSDir, "directory of ca.crt, tls.crt and tls.key")
	fs.StringVar(&f.serverPath, "server-path", "", "server program to start; by default found on the PATH")
	fs.Int32Var(&f.serverPort, "server-port", naming.RedisPort, "port of the server")
	fs.StringVar(&f.listen, "listen", fmt.Sprintf(":%d", naming.AgentPort), "address for the manager and the peers")
	fs.StringVar(&f.probeListen, "probe-listen", fmt.Sprintf(":%d", naming.ProbePort), "address for probes and metrics")
	fs.DurationVar(&f.relief, "relief", 20*time.Second, "how long a primary that must stop waits to be relieved")
	fs.BoolVar(&f.verbose, "verbose", false, "log the flow, not only changes")
	for _, name := range []string{"engine", "cluster", "pod", "server-name"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is not defined above
		}
	}
	return c
}

func run(ctx context.Context, f flags) error {
	keepSmall()
	protocol.SilenceDriver()
	level := slog.LevelInfo
	if f.verbose {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	if f.engine != "redis" {
		return fmt.Errorf("unknown engine %q", f.engine)
	}
	stateDir := filepath.Join(f.dataDir, filepath.Base(naming.PathAgentState))
	engine, err := redisagent.New(redisagent.Options{
		Cluster: f.cluster, DataDir: f.dataDir, StateDir: stateDir, RunDir: f.runDir,
		Port: f.serverPort, ServerPath: f.serverPath, Dial: protocol.Dial, Logger: logger, Now: time.Now,
	})
	if err != nil {
		return err
	}
	member, err := newMember(f, member{engine: engine, metrics: engine.Metrics, stateDir: stateDir, logger: logger})
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	return errors.Join(member.Run(ctx), engine.Close())
}

// member is what an engine brings to the agent.
type member struct {
	engine   agent.Engine
	metrics  func() []exposition.Family
	stateDir string
	logger   *slog.Logger
}

func newMember(f flags, m member) (*agent.Agent, error) {
	certificates, err := agent.LoadCertificates(f.tlsDir, f.serverName)
	if err != nil {
		return nil, err
	}
	instance := make([]byte, 8)
	if _, err := rand.Read(instance); err != nil {
		return nil, fmt.Errorf("name the agent process: %w", err)
	}
	orders, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, fmt.Errorf("listen for the manager: %w", err)
	}
	probes, err := net.Listen("tcp", f.probeListen)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for probes: %w", err), orders.Close())
	}
	return agent.New(agent.Options{
		Identity: agent.Identity{
			Version: version, Instance: hex.EncodeToString(instance), Pod: f.pod, PodUID: f.podUID, Cluster: f.cluster,
		},
		Engine: m.engine, Orders: orders, Probes: probes, TLS: certificates, StateDir: m.stateDir, Relief: f.relief,
		Output: os.Stdout, Metrics: m.metrics, Logger: m.logger, Clock: agent.NewClock(),
	})
}

// keepSmall trades a little work of the collector for memory: there is an agent in every pod.
func keepSmall() {
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(12 << 20)
}
