package node

import (
	"fmt"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/network"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/registry"
)

// containerdConfig: layers are not kept a second time once they are unpacked. The
// restriction of oom_score_adj is for machines without CAP_SYS_RESOURCE, where
// every sandbox fails otherwise.
func (s Spec) containerdConfig() string {
	return fmt.Sprintf(`version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp"]

[grpc]
  address = %[1]q

[plugins."io.containerd.cri.v1.images"]
  discard_unpacked_layers = true
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = %[2]q
[plugins."io.containerd.cri.v1.images".registry]
  config_path = %[3]q

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = [%[4]q]
  conf_dir = %[5]q
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = %[6]q
  SystemdCgroup = false
`, containerdSocket, s.PauseImage, registryDir, filepath.Dir(s.Binaries["bridge"]), cniConfigDir, s.Binaries["runc"])
}

// registryConfig sends every image, whatever registry its name begins with, to
// the one on this machine.
func registryConfig() string {
	return fmt.Sprintf(`server = "http://%[1]s"

[host."http://%[1]s"]
  capabilities = ["pull", "resolve"]
`, registry.Address())
}

// cniConfig: addresses are kept below /run, since they are void after a power
// cut.
func (s Spec) cniConfig() string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "devcluster",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [[{"subnet": %q}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": "/run/cni"
      }
    },
    {"type": "portmap", "backend": "nftables", "capabilities": {"portMappings": true}}
  ]
}
`, network.NodePods(s.Index))
}

// kubeletConfig: several kubelets on one machine need a cgroupRoot each, or they
// delete each other's pods.
func (s Spec) kubeletConfig() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[1]q}
authorization: {mode: Webhook}
tlsCertFile: %[2]q
tlsPrivateKeyFile: %[3]q
cgroupDriver: cgroupfs
cgroupRoot: /%[4]s
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
containerRuntimeEndpoint: unix://%[5]s
clusterDNS: [%[6]s]
clusterDomain: cluster.local
resolvConf: ""
volumePluginDir: %[7]q
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 4s
maxPods: 200
registerNode: true
serializeImagePulls: false
kubeAPIQPS: 100
kubeAPIBurst: 200
`, s.CertFile("ca"), s.CertFile(s.Name()), s.KeyFile(s.Name()), network.NodeNamespace(s.Index),
		containerdSocket, network.DNSService, filepath.Join(configDir, "volume-plugins"))
}

// ProxyConfig is the configuration of a kube-proxy that calls itself name. It
// writes rules after 100 ms at the latest: the default of 1 s would be in every
// figure for a failover.
func ProxyConfig(kubeconfig, name string) string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: %q}
clusterCIDR: %s
conntrack: {maxPerCore: 0}
hostnameOverride: %s
nftables: {minSyncPeriod: 100ms}
`, kubeconfig, network.PodRange, name)
}
