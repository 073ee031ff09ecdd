package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wire"
)

// clientLifetime of the manager's certificate. It is never stored: each manager makes its own.
const clientLifetime = 24 * time.Hour

var errUnexpectedPeer = errors.New("the certificate is not an agent's")

// ClientTLS is the manager's side of the connections to one cluster's agents. It is safe for
// concurrent use.
type ClientTLS struct {
	serverName string
	roots      *x509.CertPool
	signers    []*parsed

	mu     sync.Mutex
	config *tls.Config
	renew  time.Time
}

// NewClientTLS reads a cluster's Secrets. It fails if there is no authority that can sign for the
// manager.
func NewClientTLS(m Material, serverName string) (*ClientTLS, error) {
	c := &ClientTLS{serverName: serverName, roots: x509.NewCertPool()}
	current, err := parse(Pair{m.Authority[KeyCurrentCertificate], m.Authority[KeyCurrentKey]})
	if err != nil {
		return nil, fmt.Errorf("authority of %s: %w", serverName, err)
	}
	c.add(current)
	for _, pair := range []Pair{
		{m.Authority[KeyPreviousCertificate], m.Authority[KeyPreviousKey]},
		{m.Authority[KeyNextCertificate], m.Authority[KeyNextKey]},
	} {
		// These exist during a rotation only; Plan mends what is broken.
		if a, err := parse(pair); err == nil {
			c.add(a)
		}
	}
	if len(c.signers) == 0 {
		return nil, fmt.Errorf("authority of %s: no key", serverName)
	}
	return c, nil
}

func (c *ClientTLS) add(a *parsed) {
	c.roots.AddCert(a.certificate)
	if a.key != nil {
		c.signers = append(c.signers, a)
	}
}

// Config is what to connect with at now. The certificate in it is good for hours.
func (c *ClientTLS) Config(now time.Time) (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config != nil && now.Before(c.renew) {
		return c.config, nil
	}
	var certificates []tls.Certificate
	for _, a := range c.signers {
		issued, err := issue(now, a, leaf{
			commonName: wire.CommonNameManager,
			usages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			lifetime:   clientLifetime,
		})
		if err != nil {
			return nil, err
		}
		certificates = append(certificates, tls.Certificate{
			Certificate: [][]byte{issued.certificate.Raw}, PrivateKey: issued.key, Leaf: issued.certificate,
		})
	}
	c.config = &tls.Config{
		MinVersion:           tls.VersionTLS13,
		RootCAs:              c.roots,
		ServerName:           c.serverName,
		GetClientCertificate: chooser(certificates),
		VerifyConnection:     verifyAgent,
	}
	c.renew = now.Add(clientLifetime * 2 / 3)
	return c.config, nil
}

// chooser shows each agent a certificate of an authority that this agent trusts by now, or else
// that of the current one, for which the agent then has the better error message.
func chooser(certificates []tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		for i := range certificates {
			if request.SupportsCertificate(&certificates[i]) == nil {
				return &certificates[i], nil
			}
		}
		return &certificates[0], nil
	}
}

// verifyAgent runs after the chain and the name have been verified.
func verifyAgent(state tls.ConnectionState) error {
	if name := state.PeerCertificates[0].Subject.CommonName; name != wire.CommonNameAgent {
		return fmt.Errorf("%w: %q", errUnexpectedPeer, name)
	}
	return nil
}
