package agent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/naming"
	"github.com/holdfast-dev/holdfast/internal/wire"
)

// Certificates are the agent's own certificate and the authorities it trusts, from files that are
// replaced while it runs. Each handshake uses what the files hold then.
type Certificates struct {
	dir string
	// serverName is in the certificate that all agents of the cluster share.
	serverName string

	mu       sync.Mutex
	readAt   time.Time
	modified [3]time.Time
	pair     *tls.Certificate
	roots    *x509.CertPool
}

// rereadAfter bounds how often the files are looked at.
const rereadAfter = time.Second

// LoadCertificates reads ca.crt, tls.crt and tls.key in a directory.
func LoadCertificates(dir, serverName string) (*Certificates, error) {
	c := &Certificates{dir: dir, serverName: serverName}
	if err := c.read(); err != nil {
		return nil, err
	}
	c.readAt = time.Now()
	return c, nil
}

// current returns the newest usable content. Files that are half-way through a replacement, or
// broken, leave the content before them in force.
func (c *Certificates) current() (tls.Certificate, *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.readAt) >= rereadAfter {
		c.readAt = now
		_ = c.read()
	}
	return *c.pair, c.roots
}

func (c *Certificates) read() error {
	files := [3]string{naming.KeyCACert, naming.KeyTLSCert, naming.KeyTLSKey}
	var modified [3]time.Time
	for n, file := range files {
		info, err := os.Stat(filepath.Join(c.dir, file))
		if err != nil {
			return fmt.Errorf("read the certificates: %w", err)
		}
		modified[n] = info.ModTime()
	}
	if c.pair != nil && modified == c.modified {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.dir, naming.KeyTLSCert), filepath.Join(c.dir, naming.KeyTLSKey))
	if err != nil {
		return fmt.Errorf("read the agent's certificate: %w", err)
	}
	pem, err := os.ReadFile(filepath.Join(c.dir, naming.KeyCACert))
	if err != nil {
		return fmt.Errorf("read the authority's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return errors.New("read the authority's certificate: no certificate in " + naming.KeyCACert)
	}
	c.pair, c.roots, c.modified = &pair, roots, modified
	return nil
}

// server is the configuration for incoming calls: a client without a certificate of the cluster's
// authority does not get through the handshake.
func (c *Certificates) server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			pair, roots := c.current()
			return &tls.Config{
				MinVersion:   tls.VersionTLS13,
				NextProtos:   []string{"h2"},
				Certificates: []tls.Certificate{pair},
				ClientAuth:   tls.RequireAndVerifyClientCert,
				ClientCAs:    roots,
			}, nil
		},
	}
}

// client is the configuration for one call to a peer.
func (c *Certificates) client() *tls.Config {
	pair, roots := c.current()
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"h2"},
		Certificates: []tls.Certificate{pair},
		RootCAs:      roots,
		ServerName:   c.serverName,
		VerifyConnection: func(s tls.ConnectionState) error {
			if name := s.PeerCertificates[0].Subject.CommonName; name != wire.CommonNameAgent {
				return fmt.Errorf("the peer's certificate belongs to %q", name)
			}
			return nil
		},
	}
}

// quietLog takes what net/http has to say about single connections.
func quietLog(l *slog.Logger) *log.Logger { return slog.NewLogLogger(l.Handler(), slog.LevelDebug) }
