package pki

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func open(t *testing.T, dir string) *Authority {
	t.Helper()
	authority, err := Open(dir, clock)
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

func TestCertificatesAreSignedForTheirSubject(t *testing.T) {
	t.Parallel()
	a := open(t, t.TempDir())
	request := Request{
		Name: "n1", CommonName: "system:node:n1", Organization: "system:nodes",
		DNSNames: []string{"n1"}, IPs: []net.IP{net.IPv4(198, 18, 0, 11)},
	}
	if err := a.Issue(request); err != nil {
		t.Fatal(err)
	}
	cert, _, err := readPair(a.CertFile("n1"), a.KeyFile("n1"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	for sentence, options := range map[string]x509.VerifyOptions{
		"as a server, by name":    {DNSName: "n1", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		"as a server, by address": {DNSName: "198.18.0.11", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
		"as a client":             {KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
	} {
		options.Roots, options.CurrentTime = pool, clock()
		if _, err := cert.Verify(options); err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: clock(), DNSName: "n2"}); err == nil {
		t.Error("the certificate is good for a name that was not asked for")
	}
	if cert.Subject.CommonName != "system:node:n1" || cert.Subject.Organization[0] != "system:nodes" {
		t.Errorf("the subject is %s", cert.Subject)
	}
}

func TestWhatExistsIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		a := open(t, dir)
		if err := a.Issue(Request{Name: "admin"}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.SigningKey("sa"); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, dir)
	a := open(t, dir)
	if err := a.Issue(Request{Name: "admin"}); err != nil {
		t.Fatal(err)
	}
	for name, content := range snapshot(t, dir) {
		if before[name] != content {
			t.Errorf("%s was changed by a second call", name)
		}
	}
}

func TestKeysAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir)
	if err := a.Issue(Request{Name: "admin"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ca", "admin"} {
		info, err := os.Stat(a.KeyFile(name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestAKubeconfigHoldsEverythingItNeeds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir)
	if err := a.Issue(Request{Name: "admin"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := a.Kubeconfig("admin", "https://198.18.0.1:6443", path); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://198.18.0.1:6443" || len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Errorf("the kubeconfig lacks something: %s", config)
	}
	if err := a.Kubeconfig("nobody", "https://x", path); err == nil {
		t.Error("a kubeconfig without a certificate was written")
	}
}

func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		contents[entry.Name()] = string(content)
	}
	return contents
}
