package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/build"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/cgroup"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/controlplane"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/node"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/process"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/progress"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

// hostGroup is the control group of the services on the host.
const hostGroup = network.HostLink

// Names of the hidden commands with which this binary runs parts of a cluster.
const (
	CommandInit  = "internal-init"
	CommandServe = "internal-serve"
)

// Cluster is one cluster on this machine, running or not.
type Cluster struct {
	Dirs     state.Dirs
	Progress *progress.Reporter
	groups   *cgroup.Hierarchy
	binaries map[string]string
}

// New finds out what kind of control groups the machine has.
func New(dirs state.Dirs, reporter *progress.Reporter) (*Cluster, error) {
	groups, err := cgroup.Detect()
	if err != nil {
		return nil, err
	}
	return &Cluster{Dirs: dirs, Progress: reporter, groups: groups, binaries: build.Binaries(dirs)}, nil
}

// RequireRoot says what to do if the command is not run as root.
func RequireRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("this needs root, since it makes namespaces, mounts and control groups: run it with sudo")
	}
	return nil
}

func (c *Cluster) controlPlane() controlplane.Spec {
	return controlplane.Spec{Dirs: c.Dirs, Binaries: c.binaries}
}

// client talks to the API server as an administrator.
func (c *Cluster) client() (*kubernetes.Clientset, error) {
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func (c *Cluster) restConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Dirs.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w (is the cluster up?)", err)
	}
	config.QPS, config.Burst = -1, 0
	return config, nil
}

// nodes lists the indexes of the nodes that have a disk, in order.
func (c *Cluster) nodes() ([]int, error) {
	entries, err := os.ReadDir(c.Dirs.Nodes())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var nodes []int
	for _, entry := range entries {
		if i, err := network.NodeIndex(entry.Name()); err == nil {
			nodes = append(nodes, i)
		}
	}
	slices.Sort(nodes)
	return nodes, nil
}

// running says whether the machine whose record lies in dir is up.
func running(dir string) bool {
	_, alive := process.LoadIdentity(process.IdentityFile(dir))
	return alive
}

// nodeInit is the first process of a running node.
func (c *Cluster) nodeInit(name string) (process.Identity, bool) {
	return process.LoadIdentity(process.IdentityFile(c.Dirs.Node(name)))
}

// launch starts a machine, with namespaces of its own if it has a network of
// its own.
func (c *Cluster) launch(machine process.Machine, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	// What a crash or a power cut left behind would count as the new one's.
	if err := c.groups.Kill(machine.Name, killPatience); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.groups.Remove(machine.Name); err != nil {
		return err
	}
	if err := c.groups.Create(machine.Name); err != nil {
		return err
	}
	launch := process.Launch{
		Machine: machine, Dir: dir, Self: c.Dirs.Self(), Group: c.groups,
		Args: []string{CommandInit}, Namespace: network.NamespacePath(machine.Name),
	}
	if machine.Name == hostGroup {
		launch.Args = []string{CommandServe, "--state", c.Dirs.State, "--cache", c.Dirs.Cache}
		launch.Namespace = ""
	}
	return launch.Start(network.In)
}

func (c *Cluster) nodeSpec(i int) node.Spec {
	cp := c.controlPlane()
	name := network.NodeName(i)
	return node.Spec{
		Index: i, Disk: c.Dirs.Node(name), Logs: c.Dirs.Logs(), Binaries: c.binaries,
		CertFile:        func(name string) string { return filepath.Join(c.Dirs.PKI(), name+".crt") },
		KeyFile:         func(name string) string { return filepath.Join(c.Dirs.PKI(), name+".key") },
		Kubeconfig:      cp.NodeKubeconfig(name),
		ProxyKubeconfig: cp.ProxyKubeconfig(),
		PauseImage:      pauseImage,
	}
}

// killPatience is how long processes may take to be gone after SIGKILL.
const killPatience = 10 * time.Second
