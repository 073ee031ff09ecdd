package controlplane

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/build"
	"github.com/holdfast-dev/holdfast/hack/devcluster/internal/state"
)

func spec(t *testing.T) Spec {
	t.Helper()
	dirs := state.Dirs{State: t.TempDir(), Cache: "/cache"}
	return Spec{Dirs: dirs, Binaries: build.Binaries(dirs)}
}

func TestEveryFileOnACommandLineIsThere(t *testing.T) {
	t.Parallel()
	s := spec(t)
	if _, err := s.Certificates([]int{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	for _, unit := range s.Machine().Units {
		if !strings.HasPrefix(unit.Argv[0], "/cache/bin/") {
			t.Errorf("%s is run as %q", unit.Name, unit.Argv[0])
		}
		for _, flag := range unit.Argv[1:] {
			name, value, _ := strings.Cut(flag, "=")
			if !strings.HasPrefix(value, s.Dirs.State) || name == "--data-dir" {
				continue
			}
			if _, err := os.Stat(value); err != nil {
				t.Errorf("%s: %s: %v", unit.Name, name, err)
			}
		}
	}
	for _, path := range []string{s.Dirs.Kubeconfig(), s.ProxyKubeconfig(), s.NodeKubeconfig("n1"), s.NodeKubeconfig("n2")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestANodeThatIsAddedGetsItsCertificate(t *testing.T) {
	t.Parallel()
	s := spec(t)
	if _, err := s.Certificates([]int{1}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(s.Dirs.PKI(), "n1.crt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Certificates([]int{1, 2}); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(s.Dirs.PKI(), "n1.crt"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the first node's certificate was changed (%v)", err)
	}
	content, err := os.ReadFile(filepath.Join(s.Dirs.PKI(), "n2.crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(content)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if cert.Subject.CommonName != "system:node:n2" || cert.VerifyHostname("198.18.0.12") != nil {
		t.Errorf("the second node's certificate is for %s, %v", cert.Subject, cert.IPAddresses)
	}
}
