package node

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/process"
)

// Paths inside a node.
const (
	runDir           = "/run"
	libDir           = "/var/lib"
	logDir           = "/var/log"
	containerdSocket = "/run/containerd/containerd.sock"
	configDir        = "/var/lib/devcluster"
	cniConfigDir     = configDir + "/cni"
	registryDir      = configDir + "/certs.d"
	// VolumesDir is where volumes lie inside a node.
	VolumesDir = "/var/lib/devcluster-volumes"
)

// Spec is what a node is made from.
type Spec struct {
	Index int
	// Disk is the directory on the host that survives a power cut.
	Disk string
	// Logs is the directory on the host for the components' output.
	Logs string
	// Binaries maps names to paths.
	Binaries map[string]string
	// PKI finds certificates: the node's own is called as the node.
	CertFile, KeyFile func(name string) string
	// Kubeconfig and ProxyKubeconfig are those of the kubelet and kube-proxy.
	Kubeconfig, ProxyKubeconfig string
	// PauseImage is the sandbox image.
	PauseImage string
}

// Name is the node's name.
func (s Spec) Name() string { return network.NodeName(s.Index) }

// HostVolumes is where the node's volumes lie on the host.
func HostVolumes(disk string) string {
	return filepath.Join(disk, "lib", filepath.Base(VolumesDir))
}

// Socket is containerd's socket of a node seen from the host, through its first
// process.
func Socket(init int) string { return fmt.Sprintf("/proc/%d/root%s", init, containerdSocket) }

// Prepare writes the node's configuration to its disk. It changes nothing that
// the node itself wrote there.
func (s Spec) Prepare() error {
	for _, dir := range []string{
		filepath.Join(s.Disk, "log"),
		s.onDisk(cniConfigDir),
		s.onDisk(filepath.Join(registryDir, "_default")),
		HostVolumes(s.Disk),
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the disk of %s: %w", s.Name(), err)
		}
	}
	files := map[string]string{
		"containerd.toml":             s.containerdConfig(),
		"kubelet.yaml":                s.kubeletConfig(),
		"kube-proxy.yaml":             ProxyConfig(s.ProxyKubeconfig, s.Name()),
		"cni/10-bridge.conflist":      s.cniConfig(),
		"certs.d/_default/hosts.toml": registryConfig(),
	}
	for name, content := range files {
		if err := os.WriteFile(s.onDisk(filepath.Join(configDir, name)), []byte(content), 0o644); err != nil {
			return fmt.Errorf("write the configuration of %s: %w", s.Name(), err)
		}
	}
	return nil
}

// onDisk translates a path below the node's /var/lib to the host.
func (s Spec) onDisk(path string) string {
	relative, err := filepath.Rel(libDir, path)
	if err != nil {
		return path
	}
	return filepath.Join(s.Disk, "lib", relative)
}

// Machine describes the node to the process package.
func (s Spec) Machine() process.Machine {
	return process.Machine{
		Name:     network.NodeNamespace(s.Index),
		Hostname: s.Name(),
		Mounts: []process.Mount{
			{Source: "proc", Target: "/proc", Kind: "proc"},
			{Source: "tmpfs", Target: runDir, Kind: "tmpfs"},
			{Source: filepath.Join(s.Disk, "lib"), Target: libDir, Kind: "bind"},
			{Source: filepath.Join(s.Disk, "log"), Target: logDir, Kind: "bind"},
		},
		Units: []process.Unit{s.containerdUnit(), s.kubeletUnit(), s.proxyUnit()},
	}
}

func (s Spec) containerdUnit() process.Unit {
	return process.Unit{
		Name: "containerd",
		Argv: []string{s.Binaries["containerd"], "--config", filepath.Join(configDir, "containerd.toml")},
		// containerd looks for its shim on the PATH.
		Env: []string{"PATH=" + filepath.Dir(s.Binaries["containerd-shim-runc-v2"]) + ":" + process.SystemPath},
		Log: s.log("containerd"),
	}
}

func (s Spec) kubeletUnit() process.Unit {
	return process.Unit{
		Name: "kubelet",
		Argv: []string{
			s.Binaries["kubelet"],
			"--config=" + filepath.Join(configDir, "kubelet.yaml"),
			"--kubeconfig=" + s.Kubeconfig,
			"--hostname-override=" + s.Name(),
			"--node-ip=" + network.NodeAddr(s.Index).String(),
		},
		Env:   []string{"PATH=" + process.SystemPath},
		Log:   s.log("kubelet"),
		Needs: []string{containerdSocket, network.APIServerDial()},
	}
}

func (s Spec) proxyUnit() process.Unit {
	return process.Unit{
		Name:  "kube-proxy",
		Argv:  []string{s.Binaries["kube-proxy"], "--config=" + filepath.Join(configDir, "kube-proxy.yaml")},
		Env:   []string{"PATH=" + process.SystemPath},
		Log:   s.log("kube-proxy"),
		Needs: []string{network.APIServerDial()},
	}
}

func (s Spec) log(component string) string {
	return filepath.Join(s.Logs, s.Name()+"-"+component+".log")
}
