package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func spec(t *testing.T, i int) Spec {
	t.Helper()
	path := func(name string) string { return "/pki/" + name }
	return Spec{
		Index: i, Disk: t.TempDir(), Logs: "/log",
		Binaries: map[string]string{
			"containerd": "/c/containerd/containerd", "containerd-shim-runc-v2": "/c/containerd/shim", "runc": "/c/runc/runc",
			"bridge": "/c/cni/bridge", "kubelet": "/c/k8s/kubelet", "kube-proxy": "/c/k8s/kube-proxy",
		},
		CertFile: path, KeyFile: path, Kubeconfig: "/pki/n.kubeconfig", ProxyKubeconfig: "/pki/proxy.kubeconfig", PauseImage: "pause:1",
	}
}

func TestConfigurationIsWrittenWhereTheNodeLooks(t *testing.T) {
	t.Parallel()
	s := spec(t, 2)
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	machine := s.Machine()
	for _, unit := range machine.Units {
		for _, argument := range unit.Argv {
			path := argument[strings.Index(argument, "=")+1:]
			if !strings.HasPrefix(path, libDir) {
				continue
			}
			// Inside the node this is below a mount of its own.
			if _, err := os.Stat(filepath.Join(s.Disk, "lib", strings.TrimPrefix(path, libDir))); err != nil {
				t.Errorf("%s is told of %s, which is not there", unit.Name, path)
			}
		}
	}
	for _, mount := range machine.Mounts {
		if mount.Kind != "bind" {
			continue
		}
		if _, err := os.Stat(mount.Source); err != nil {
			t.Errorf("mount %s: %v", mount.Source, err)
		}
	}
}

func TestAPreparedDiskIsKept(t *testing.T) {
	t.Parallel()
	s := spec(t, 1)
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(HostVolumes(s.Disk), "pvc-1")
	if err := os.WriteFile(data, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(data); err != nil || string(content) != "x" {
		t.Fatalf("%q, %v", content, err)
	}
}

func TestNodesDoNotShareWhatIsTheirs(t *testing.T) {
	t.Parallel()
	a, b := spec(t, 1), spec(t, 2)
	for name, config := range map[string]func(Spec) string{
		"kubelet": Spec.kubeletConfig, "cni": Spec.cniConfig,
	} {
		if config(a) == config(b) {
			t.Errorf("two nodes have the same configuration of %s", name)
		}
	}
	if a.Machine().Name == b.Machine().Name || a.Machine().Units[0].Log == b.Machine().Units[0].Log {
		t.Error("two nodes share a control group or a log")
	}
}

func TestConfigurationCanBeParsed(t *testing.T) {
	t.Parallel()
	s := spec(t, 3)
	var kubelet struct {
		CgroupRoot string            `json:"cgroupRoot"`
		Eviction   map[string]string `json:"evictionHard"`
		DNS        []string          `json:"clusterDNS"`
	}
	if err := yaml.UnmarshalStrict([]byte(s.kubeletConfig()), &map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(s.kubeletConfig()), &kubelet); err != nil {
		t.Fatal(err)
	}
	if kubelet.CgroupRoot != "/hf-n3" || kubelet.Eviction["nodefs.available"] != "1%" || kubelet.DNS[0] != "198.19.0.10" {
		t.Errorf("the kubelet's configuration: %+v", kubelet)
	}
	var proxy struct {
		Mode     string `json:"mode"`
		Nftables struct {
			MinSyncPeriod string `json:"minSyncPeriod"`
		} `json:"nftables"`
	}
	if err := yaml.Unmarshal([]byte(ProxyConfig("/k", "n3")), &proxy); err != nil || proxy.Mode != "nftables" || proxy.Nftables.MinSyncPeriod != "100ms" {
		t.Errorf("kube-proxy's configuration: %+v, %v", proxy, err)
	}
	var cni map[string]any
	if err := json.Unmarshal([]byte(s.cniConfig()), &cni); err != nil {
		t.Errorf("the network's configuration: %v", err)
	}
}
