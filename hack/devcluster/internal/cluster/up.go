package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/addons"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/build"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/process"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/registry"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/storage"
)

const (
	gibibyte = 1 << 30
	// spaceToBuild is what the compiler and the binaries take.
	spaceToBuild = 12 * gibibyte
	// spaceToRun is what images take, once per node and once in the registry.
	spaceToRun = 3 * gibibyte
)

// Up brings the cluster up with at least n nodes. What runs already is kept.
func (c *Cluster) Up(ctx context.Context, n int) error {
	if n < 1 || n > network.MaxNodes {
		return fmt.Errorf("a cluster has 1 to %d nodes, not %d", network.MaxNodes, n)
	}
	unlock, err := state.Lock(c.Dirs.Cache, c.sayWaiting)
	if err != nil {
		return err
	}
	defer unlock()
	if owner := network.Owner(); owner != "" && owner != c.Dirs.State {
		return fmt.Errorf("a cluster of %s is up on this machine, and there is room for one: take it down first (devcluster down --state %s)", owner, owner)
	}
	if err := c.EnsureParts(ctx); err != nil {
		return err
	}
	if err := c.EnsureImages(ctx); err != nil {
		return err
	}
	nodes, err := c.plan(n)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := c.start(ctx, nodes); err != nil {
		return err
	}
	if err := c.awaitReady(ctx, nodes); err != nil {
		return err
	}
	c.Progress.Note("\n%s ready after %.1f s.\n\n  export KUBECONFIG=%s", count(nodes), time.Since(start).Seconds(), c.Dirs.Kubeconfig())
	return nil
}

// sayWaiting explains why nothing happens.
func (c *Cluster) sayWaiting() {
	c.Progress.Note("  … another devcluster command is at work; waiting for it")
}

// EnsureParts installs what the machine lacks and builds what the cache lacks.
func (c *Cluster) EnsureParts(ctx context.Context) error {
	builder := &build.Builder{Dirs: c.Dirs, Progress: c.Progress}
	missing := builder.Missing(build.Parts())
	need := uint64(spaceToRun)
	if len(missing) > 0 {
		need = spaceToBuild
	}
	if err := requireSpace(c.Dirs.Cache, need); err != nil {
		return err
	}
	if packages := build.Missing(build.Runtime()); len(packages) > 0 {
		if err := c.Progress.Step("packages of the machine", func() error { return build.Install(packages) }); err != nil {
			return err
		}
	}
	for _, part := range build.Parts() {
		if err := builder.Build(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func requireSpace(dir string, need uint64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return fmt.Errorf("look for free space in %s: %w", dir, err)
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < need {
		return fmt.Errorf("%s has %.1f GiB of free space and %.0f GiB are needed: free some, or give another directory with --cache",
			dir, float64(free)/gibibyte, float64(need)/gibibyte)
	}
	return nil
}

// plan is the nodes that there are, and as many new ones as it takes.
func (c *Cluster) plan(n int) ([]int, error) {
	nodes, err := c.nodes()
	if err != nil {
		return nil, err
	}
	for i := 1; i <= n; i++ {
		if !slices.Contains(nodes, i) {
			nodes = append(nodes, i)
		}
	}
	slices.Sort(nodes)
	return nodes, nil
}

func count(nodes []int) string {
	if len(nodes) == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", len(nodes))
}

func (c *Cluster) start(ctx context.Context, nodes []int) error {
	steps := []struct {
		label string
		work  func() error
	}{
		{"network", func() error { return c.startNetwork(nodes) }},
		{"certificates", func() error { return c.certificates(nodes) }},
		{"registry and storage", func() error { return c.startHost(ctx) }},
		{"control plane started", c.startControlPlane},
		{count(nodes) + " started", func() error { return c.startNodes(nodes) }},
		{"API server answers", func() error { return c.awaitAPIServer(ctx) }},
		{"CoreDNS and StorageClass applied", func() error { return c.applyAddons(ctx) }},
	}
	for _, step := range steps {
		if err := c.Progress.Step(step.label, step.work); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) startNetwork(nodes []int) error {
	if err := network.EnsureSwitch(c.Dirs.State); err != nil {
		return err
	}
	return network.EnsureNodes(nodes)
}

func (c *Cluster) certificates(nodes []int) error {
	if err := os.MkdirAll(c.Dirs.State, 0o755); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	if _, err := c.controlPlane().Certificates(nodes); err != nil {
		return err
	}
	return c.copySelf()
}

// copySelf keeps the binary that the cluster runs: the one that was called may
// be gone in a moment, as with `go run`.
func (c *Cluster) copySelf() error {
	target := c.Dirs.Self()
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("copy this binary: %w", err)
	}
	source, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("copy this binary: %w", err)
	}
	defer source.Close()
	// The old one may be running, so it is replaced and not overwritten.
	unfinished := target + ".part"
	copied, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("copy this binary: %w", err)
	}
	_, err = io.Copy(copied, source)
	if err := errors.Join(err, copied.Close()); err != nil {
		return fmt.Errorf("copy this binary: %w", err)
	}
	if err := os.Rename(unfinished, target); err != nil {
		return fmt.Errorf("copy this binary: %w", err)
	}
	return nil
}

func (c *Cluster) startHost(ctx context.Context) error {
	if !running(c.Dirs.Host()) {
		// Whoever listens on all addresses of the machine is in the way.
		probe, err := net.Listen("tcp", registry.Address())
		if err != nil {
			return fmt.Errorf("the registry cannot listen on %s: %w: stop what uses port %d", registry.Address(), err, network.RegistryPort)
		}
		probe.Close()
		if err := c.launch(process.Machine{Name: hostGroup}, c.Dirs.Host()); err != nil {
			return err
		}
	}
	return poll(ctx, registryPatience, func() error {
		conn, err := net.DialTimeout("tcp", registry.Address(), time.Second)
		if err != nil {
			return fmt.Errorf("the registry does not answer: %w: see devcluster logs host", err)
		}
		return conn.Close()
	})
}

func (c *Cluster) startControlPlane() error {
	dir := c.Dirs.ControlPlane()
	if running(dir) {
		return nil
	}
	spec := c.controlPlane()
	if err := spec.Prepare(); err != nil {
		return err
	}
	return c.launch(spec.Machine(), dir)
}

func (c *Cluster) startNodes(nodes []int) error {
	for _, i := range nodes {
		if running(c.Dirs.Node(network.NodeName(i))) {
			continue
		}
		if err := c.bootNode(i); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) bootNode(i int) error {
	spec := c.nodeSpec(i)
	if err := spec.Prepare(); err != nil {
		return err
	}
	if err := network.SetCable(i, network.CableIn); err != nil {
		return err
	}
	return c.launch(spec.Machine(), c.Dirs.Node(spec.Name()))
}

func (c *Cluster) applyAddons(ctx context.Context) error {
	return addons.Apply(ctx, c.binaries["kubectl"], c.Dirs.Kubeconfig(), addons.Values{
		Provisioner: storage.ProvisionerName, CoreDNSImage: coreDNSImage, DNSService: network.DNSService.String(),
	})
}
