package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

const (
	// backdate forgives clocks that are a little apart.
	backdate = 5 * time.Minute

	blockCertificate = "CERTIFICATE"
	blockPrivateKey  = "PRIVATE KEY"
)

var errMismatch = errors.New("the key does not belong to the certificate")

// Pair is a certificate and its key, in PEM. An authority whose key is lost has a certificate alone.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// parsed is a Pair that was read and found consistent.
type parsed struct {
	pair        Pair
	certificate *x509.Certificate
	// key is nil for a certificate that is only trusted.
	key *ecdsa.PrivateKey
}

// fingerprint names a certificate by its content.
func (p *parsed) fingerprint() string {
	sum := sha256.Sum256(p.certificate.Raw)
	return hex.EncodeToString(sum[:])
}

// newAuthority makes a self-signed authority. Each has a subject of its own, so that the two of a
// rotation can be told apart by those who choose a certificate for a peer.
func newAuthority(now time.Time, name string) (*parsed, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key of authority: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encode public key of authority: %w", err)
	}
	id := sha256.Sum256(public)
	template := &x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"Holdfast"}, CommonName: name + " " + hex.EncodeToString(id[:4])},
		NotBefore:             now.Add(-backdate).UTC(),
		NotAfter:              now.Add(AuthorityLifetime).UTC(),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	return sign(template, &parsed{certificate: template, key: key}, key)
}

// leaf is what a certificate is issued for.
type leaf struct {
	commonName string
	dnsNames   []string
	usages     []x509.ExtKeyUsage
	lifetime   time.Duration
}

// issue makes a certificate that does not outlive its authority.
func issue(now time.Time, authority *parsed, l leaf) (*parsed, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key of %s: %w", l.commonName, err)
	}
	notAfter := now.Add(l.lifetime)
	if end := authority.certificate.NotAfter; end.Before(notAfter) {
		notAfter = end
	}
	return sign(&x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"Holdfast"}, CommonName: l.commonName},
		DNSNames:              l.dnsNames,
		NotBefore:             now.Add(-backdate).UTC(),
		NotAfter:              notAfter.UTC(),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           l.usages,
		BasicConstraintsValid: true,
	}, authority, key)
}

func sign(template *x509.Certificate, signer *parsed, key *ecdsa.PrivateKey) (*parsed, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, key.Public(), signer.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", template.Subject.CommonName, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read back certificate of %s: %w", template.Subject.CommonName, err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key of %s: %w", template.Subject.CommonName, err)
	}
	return &parsed{
		certificate: certificate,
		key:         key,
		pair: Pair{
			Certificate: pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: der}),
			Key:         pem.EncodeToMemory(&pem.Block{Type: blockPrivateKey, Bytes: encoded}),
		},
	}, nil
}

// parse reads a pair and checks that its two halves belong together. Without a key the result is
// only good for trust.
func parse(p Pair) (*parsed, error) {
	certificate, err := parseCertificate(p.Certificate)
	if err != nil {
		return nil, err
	}
	result := &parsed{pair: p, certificate: certificate}
	if len(p.Key) == 0 {
		return result, nil
	}
	block, _ := pem.Decode(p.Key)
	if block == nil || block.Type != blockPrivateKey {
		return nil, errors.New("no private key in PEM")
	}
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read private key: %w", err)
	}
	key, ok := private.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, errMismatch
	}
	result.key = key
	return result, nil
}

func parseCertificate(encoded []byte) (*x509.Certificate, error) {
	block, rest := pem.Decode(encoded)
	if block == nil || block.Type != blockCertificate {
		return nil, errors.New("no certificate in PEM")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("more than one certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	return certificate, nil
}

// parseBundle reads the authorities that agents trust. What cannot be read is left out.
func parseBundle(encoded []byte) []*parsed {
	var bundle []*parsed
	for block, rest := pem.Decode(encoded); block != nil; block, rest = pem.Decode(rest) {
		one := Pair{Certificate: pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})}
		if p, err := parse(one); err == nil && p.certificate.IsCA {
			bundle = append(bundle, p)
		}
	}
	return bundle
}
