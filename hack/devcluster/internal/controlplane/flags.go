package controlplane

import (
	"path/filepath"
	"strconv"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
)

// etcdFlags: a cluster that is thrown away need not survive the machine's own
// power cut, so etcd need not wait for the disk.
func (s Spec) etcdFlags() []string {
	return []string{
		"--data-dir=" + filepath.Join(s.Dirs.ControlPlane(), "etcd"),
		"--listen-client-urls=" + etcdClient,
		"--advertise-client-urls=" + etcdClient,
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--unsafe-no-fsync",
	}
}

func (s Spec) apiServerFlags() []string {
	return []string{
		"--etcd-servers=" + etcdClient,
		"--advertise-address=" + network.ControlPlaneAddr.String(),
		"--secure-port=" + strconv.Itoa(network.APIServerPort),
		"--service-cluster-ip-range=" + network.ServiceRange.String(),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--client-ca-file=" + s.cert("ca"),
		"--tls-cert-file=" + s.cert(certAPIServer),
		"--tls-private-key-file=" + s.key(certAPIServer),
		"--kubelet-certificate-authority=" + s.cert("ca"),
		"--kubelet-client-certificate=" + s.cert(certKubeletClient),
		"--kubelet-client-key=" + s.key(certKubeletClient),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + filepath.Join(s.Dirs.PKI(), serviceAccountKey+".pub"),
		"--service-account-signing-key-file=" + s.key(serviceAccountKey),
		"--requestheader-client-ca-file=" + s.cert("ca"),
		"--requestheader-allowed-names=" + certFrontProxy,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + s.cert(certFrontProxy),
		"--proxy-client-key-file=" + s.key(certFrontProxy),
		"--enable-aggregator-routing=true",
		"--profiling=false",
	}
}

func (s Spec) controllerManagerFlags() []string {
	return []string{
		"--kubeconfig=" + s.kubeconfig(certControllerManager),
		"--authentication-kubeconfig=" + s.kubeconfig(certControllerManager),
		"--authorization-kubeconfig=" + s.kubeconfig(certControllerManager),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + s.key(serviceAccountKey),
		"--root-ca-file=" + s.cert("ca"),
		"--cluster-signing-cert-file=" + s.cert("ca"),
		"--cluster-signing-key-file=" + s.key("ca"),
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}
}

func (s Spec) schedulerFlags() []string {
	return []string{
		"--kubeconfig=" + s.kubeconfig(certScheduler),
		"--authentication-kubeconfig=" + s.kubeconfig(certScheduler),
		"--authorization-kubeconfig=" + s.kubeconfig(certScheduler),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}
}

func (s Spec) cert(name string) string { return filepath.Join(s.Dirs.PKI(), name+".crt") }
func (s Spec) key(name string) string  { return filepath.Join(s.Dirs.PKI(), name+".key") }
