package controlplane

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/node"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/pki"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/process"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

// Names of the certificates; those of nodes are called as the node.
const (
	certAPIServer         = "apiserver"
	certKubeletClient     = "apiserver-kubelet-client"
	certFrontProxy        = "front-proxy"
	certAdmin             = "admin"
	certControllerManager = "controller-manager"
	certScheduler         = "scheduler"
	certProxy             = "kube-proxy"
	serviceAccountKey     = "service-accounts"
)

const (
	administrators = "system:masters"
	systemNodes    = "system:nodes"
	etcdClient     = "http://127.0.0.1:2379"
)

// Spec is what the control plane is made from.
type Spec struct {
	Dirs     state.Dirs
	Binaries map[string]string
}

// ProxyKubeconfig is the kubeconfig of every kube-proxy.
func (s Spec) ProxyKubeconfig() string { return s.kubeconfig(certProxy) }

// NodeKubeconfig is the kubeconfig of a node's kubelet.
func (s Spec) NodeKubeconfig(name string) string { return s.kubeconfig(name) }

func (s Spec) kubeconfig(name string) string {
	return filepath.Join(s.Dirs.PKI(), name+".kubeconfig")
}

// Certificates makes the certificates and kubeconfigs of the control plane and
// of the nodes, as far as they are not there.
func (s Spec) Certificates(nodes []int) (*pki.Authority, error) {
	authority, err := pki.Open(s.Dirs.PKI(), time.Now)
	if err != nil {
		return nil, err
	}
	for _, request := range s.requests(nodes) {
		if err := authority.Issue(request); err != nil {
			return nil, err
		}
	}
	if _, _, err := authority.SigningKey(serviceAccountKey); err != nil {
		return nil, err
	}
	server := "https://" + network.APIServer()
	configs := []string{certControllerManager, certScheduler, certProxy}
	for _, i := range nodes {
		configs = append(configs, network.NodeName(i))
	}
	for _, name := range configs {
		if err := authority.Kubeconfig(name, server, s.kubeconfig(name)); err != nil {
			return nil, err
		}
	}
	return authority, authority.Kubeconfig(certAdmin, server, s.Dirs.Kubeconfig())
}

func (s Spec) requests(nodes []int) []pki.Request {
	requests := []pki.Request{
		{
			Name: certAPIServer, CommonName: "kube-apiserver",
			DNSNames: []string{
				"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
			},
			IPs: []net.IP{
				net.IPv4(127, 0, 0, 1),
				network.ControlPlaneAddr.AsSlice(), network.APIServerService.AsSlice(),
			},
		},
		{Name: certKubeletClient, Organization: administrators},
		{Name: certFrontProxy},
		{Name: certAdmin, Organization: administrators},
		{Name: certControllerManager, CommonName: "system:kube-controller-manager"},
		{Name: certScheduler, CommonName: "system:kube-scheduler"},
		{Name: certProxy, CommonName: "system:kube-proxy"},
	}
	for _, i := range nodes {
		name := network.NodeName(i)
		requests = append(requests, pki.Request{
			Name: name, CommonName: "system:node:" + name, Organization: systemNodes,
			DNSNames: []string{name}, IPs: []net.IP{network.NodeAddr(i).AsSlice()},
		})
	}
	return requests
}

// Prepare writes the configuration files of the control plane.
func (s Spec) Prepare() error {
	for _, dir := range []string{s.Dirs.ControlPlane(), s.Dirs.Logs()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the control plane's directory: %w", err)
		}
	}
	// The proxy calls itself as the first node: it waits half a minute for a
	// Node of its name, and the control plane has none.
	config := node.ProxyConfig(s.ProxyKubeconfig(), network.NodeName(1))
	if err := os.WriteFile(s.proxyConfig(), []byte(config), 0o600); err != nil {
		return fmt.Errorf("write the configuration of kube-proxy: %w", err)
	}
	return nil
}

func (s Spec) proxyConfig() string { return filepath.Join(s.Dirs.ControlPlane(), "kube-proxy.yaml") }

// Machine describes the control plane to the process package.
func (s Spec) Machine() process.Machine {
	return process.Machine{
		Name:     network.ControlPlaneNamespace,
		Hostname: network.ControlPlaneNamespace,
		Mounts: []process.Mount{
			{Source: "proc", Target: "/proc", Kind: "proc"},
			{Source: "tmpfs", Target: "/run", Kind: "tmpfs"},
		},
		Units: []process.Unit{
			s.unit("etcd", s.etcdFlags()),
			s.unit("kube-apiserver", s.apiServerFlags(), "tcp://127.0.0.1:2379"),
			s.unit("kube-controller-manager", s.controllerManagerFlags(), network.APIServerDial()),
			s.unit("kube-scheduler", s.schedulerFlags(), network.APIServerDial()),
			s.unit("kube-proxy", []string{"--config=" + s.proxyConfig()}, network.APIServerDial()),
		},
	}
}

func (s Spec) unit(name string, flags []string, needs ...string) process.Unit {
	return process.Unit{
		Name:  name,
		Argv:  append([]string{s.Binaries[name]}, flags...),
		Env:   []string{"PATH=" + process.SystemPath},
		Log:   s.Dirs.Log(name),
		Needs: needs,
	}
}
