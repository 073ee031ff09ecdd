package build

import (
	_ "embed" // the programs below
	"maps"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/versions"
)

// Part is a set of binaries that come from one module.
type Part struct {
	Name    string
	Version string
	// Module is where it comes from; empty if Program needs nothing else.
	Module string
	// Program is the source of a main package of our own, which then is the
	// package "." of the part's module.
	Program string
	// Staging is the version of the modules that Module replaces by folders of
	// its own and does not give a version for. Empty if there are none.
	Staging string
	// Binaries maps the name of each binary to its package.
	Binaries map[string]string
	// Tags and LinkFlags are handed to the Go tool.
	Tags      string
	LinkFlags string
	// Cgo is what must be installed if the part needs a C compiler.
	Cgo []Requirement
}

// Names of the parts, as they appear in the cache.
const (
	Kubernetes = "kubernetes"
	Etcd       = "etcd"
	Containerd = "containerd"
	Runc       = "runc"
	CNIPlugins = "cni-plugins"
	CoreDNS    = "coredns"
	Pause      = "pause"
)

var (
	//go:embed programs/pause.go.txt
	pauseProgram string
	//go:embed programs/coredns.go.txt
	coreDNSProgram string
)

// ownProgram is the package of a part that brings its source.
const ownProgram = "."

const kubernetesModule = "k8s.io/kubernetes"

// Parts lists everything that a cluster is built from.
func Parts() []Part {
	return []Part{etcd(), kubernetes(), containerd(), runc(), cniPlugins(), coreDNS(), pause()}
}

// Binaries maps the name of every binary to where it lies once it is built.
func Binaries(dirs state.Dirs) map[string]string {
	paths := map[string]string{}
	for _, part := range Parts() {
		for name := range maps.Keys(part.Binaries) {
			paths[name] = filepath.Join(dirs.Parts(part.Name, part.Version), name)
		}
	}
	return paths
}

func etcd() Part {
	return Part{
		Name: Etcd, Version: versions.Etcd, Module: "go.etcd.io/etcd/server/v3",
		Binaries: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"},
	}
}

func kubernetes() Part {
	binaries := map[string]string{}
	for _, name := range []string{
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
	} {
		binaries[name] = kubernetesModule + "/cmd/" + name
	}
	release := "v" + versions.Kubernetes
	return Part{
		Name: Kubernetes, Version: versions.Kubernetes, Module: kubernetesModule,
		Staging:  "v" + versions.KubernetesStaging,
		Binaries: binaries,
		// Without these the nodes report version v0.0.0.
		LinkFlags: "-X k8s.io/component-base/version.gitVersion=" + release +
			" -X k8s.io/client-go/pkg/version.gitVersion=" + release,
	}
}

func containerd() Part {
	const module = "github.com/containerd/containerd/v2"
	return Part{
		Name: Containerd, Version: versions.Containerd, Module: module,
		Binaries: map[string]string{
			"containerd":              module + "/cmd/containerd",
			"containerd-shim-runc-v2": module + "/cmd/containerd-shim-runc-v2",
			"ctr":                     module + "/cmd/ctr",
		},
		LinkFlags: "-X " + module + "/version.Version=v" + versions.Containerd,
	}
}

func runc() Part {
	const module = "github.com/opencontainers/runc"
	return Part{
		Name: Runc, Version: versions.Runc, Module: module,
		Binaries:  map[string]string{"runc": module},
		Tags:      "seccomp",
		LinkFlags: "-X main.version=" + versions.Runc,
		Cgo: []Requirement{
			{Command: "gcc", Package: "gcc"},
			{Command: "pkg-config", Package: "pkg-config"},
			{File: "/usr/include/seccomp.h", Package: "libseccomp-dev"},
		},
	}
}

func cniPlugins() Part {
	const module = "github.com/containernetworking/plugins"
	return Part{
		Name: CNIPlugins, Version: versions.CNIPlugins, Module: module,
		Binaries: map[string]string{
			"bridge":     module + "/plugins/main/bridge",
			"loopback":   module + "/plugins/main/loopback",
			"host-local": module + "/plugins/ipam/host-local",
			"portmap":    module + "/plugins/meta/portmap",
		},
	}
}

// coreDNS is built with a few of its plugins: all of them would bring the
// libraries of three clouds and take minutes to compile.
func coreDNS() Part {
	return Part{
		Name: CoreDNS, Version: versions.CoreDNS, Module: "github.com/coredns/coredns",
		Program:  coreDNSProgram,
		Binaries: map[string]string{"coredns": ownProgram},
	}
}

func pause() Part {
	return Part{
		Name: Pause, Version: versions.Images, Program: pauseProgram,
		Binaries: map[string]string{"pause": ownProgram},
	}
}
