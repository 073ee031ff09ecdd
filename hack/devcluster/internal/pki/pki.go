package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is longer than any test cluster lives, and short enough to forget.
const lifetime = 365 * 24 * time.Hour

// backdate allows for clocks that are not quite the same.
const backdate = time.Hour

const serialBits = 120

// Request is what a certificate is made for.
type Request struct {
	// Name is the name of the files and, unless CommonName is set, the subject.
	Name         string
	CommonName   string
	Organization string
	DNSNames     []string
	IPs          []net.IP
}

// Authority signs the certificates of one cluster.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
	now  func() time.Time
}

// Open reads the authority in dir, or makes one.
func Open(dir string, now func() time.Time) (*Authority, error) {
	a := &Authority{dir: dir, now: now}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory for certificates: %w", err)
	}
	cert, key, err := readPair(a.CertFile("ca"), a.KeyFile("ca"))
	if errors.Is(err, fs.ErrNotExist) {
		cert, key, err = a.create()
	}
	if err != nil {
		return nil, fmt.Errorf("open the authority: %w", err)
	}
	a.cert, a.key = cert, key
	return a, nil
}

// CertFile is where the certificate of this name lies.
func (a *Authority) CertFile(name string) string { return filepath.Join(a.dir, name+".crt") }

// KeyFile is where the key of this name lies.
func (a *Authority) KeyFile(name string) string { return filepath.Join(a.dir, name+".key") }

// Issue makes a certificate unless there is one of that name.
func (a *Authority) Issue(r Request) error {
	if _, _, err := readPair(a.CertFile(r.Name), a.KeyFile(r.Name)); err == nil {
		return nil
	}
	template, err := a.template(r)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make key %s: %w", r.Name, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("sign certificate %s: %w", r.Name, err)
	}
	return a.write(r.Name, der, key)
}

// SigningKey makes the key pair for service account tokens: NAME.key and
// NAME.pub. It does nothing if they exist.
func (a *Authority) SigningKey(name string) (private, public string, err error) {
	private, public = a.KeyFile(name), filepath.Join(a.dir, name+".pub")
	if _, err := os.Stat(public); err == nil {
		return private, public, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("make key %s: %w", name, err)
	}
	if err := writeKey(private, key); err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return "", "", fmt.Errorf("encode public key %s: %w", name, err)
	}
	return private, public, writePEM(public, "PUBLIC KEY", der)
}

func (a *Authority) create() (*x509.Certificate, crypto.Signer, error) {
	template, err := a.template(Request{Name: "devcluster-ca"})
	if err != nil {
		return nil, nil, err
	}
	template.IsCA = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = nil
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign: %w", err)
	}
	if err := a.write("ca", der, key); err != nil {
		return nil, nil, err
	}
	return readPair(a.CertFile("ca"), a.KeyFile("ca"))
}

func (a *Authority) template(r Request) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	subject := pkix.Name{CommonName: r.CommonName}
	if subject.CommonName == "" {
		subject.CommonName = r.Name
	}
	if r.Organization != "" {
		subject.Organization = []string{r.Organization}
	}
	now := a.now()
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               subject,
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		DNSNames:              r.DNSNames,
		IPAddresses:           r.IPs,
	}, nil
}

func (a *Authority) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	if err := writeKey(a.KeyFile(name), key); err != nil {
		return err
	}
	return writePEM(a.CertFile(name), "CERTIFICATE", der)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	content := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

func readPair(certFile, keyFile string) (*x509.Certificate, crypto.Signer, error) {
	certDER, err := readPEM(certFile)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(certDER)
	if err != nil {
		return nil, nil, fmt.Errorf("parse %s: %w", filepath.Base(certFile), err)
	}
	keyDER, err := readPEM(keyFile)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(keyDER)
	if err != nil {
		return nil, nil, fmt.Errorf("parse %s: %w", filepath.Base(keyFile), err)
	}
	return cert, key, nil
}

func readPEM(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", filepath.Base(path))
	}
	return block.Bytes, nil
}
