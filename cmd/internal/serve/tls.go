package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is a pair of files that is read again when they change, so that a renewed certificate needs no restart.
type certificate struct {
	cert, key string
	logger    *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	seen   [2]time.Time // when the files were changed last
	looked time.Time
}

// lookEvery is how often the files are looked at.
const lookEvery = time.Second

// get returns the certificate in use. Files that cannot be read, or do not fit each other, leave the old one in use: both are seldom written at once.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.loaded != nil && now.Sub(c.looked) < lookEvery {
		return c.loaded, nil
	}
	c.looked = now
	var seen [2]time.Time
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			seen[i] = info.ModTime()
		}
	}
	if c.loaded != nil && seen == c.seen {
		return c.loaded, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	switch {
	case err == nil:
		if c.loaded != nil {
			c.logger.Info("certificate read again", "file", c.cert)
		}
		c.loaded, c.seen = &pair, seen
	case c.loaded == nil:
		return nil, fmt.Errorf("certificate %s with key %s: %w", c.cert, c.key, err)
	default:
		c.logger.Warn("the certificate was changed and cannot be read: the old one stays in use", "file", c.cert, "cause", err)
	}
	return c.loaded, nil
}

// tlsConfig returns the configuration of listeners, nil without TLS.
func (c *Config) tlsConfig() (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	cert := &certificate{cert: c.TLSCert, key: c.TLSKey, logger: c.Logger}
	if _, err := cert.get(nil); err != nil {
		return nil, err
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: cert.get}
	if c.TLSClientCA != "" {
		pem, err := os.ReadFile(c.TLSClientCA)
		if err != nil {
			return nil, fmt.Errorf("tls-client-ca: %w", err)
		}
		out.ClientCAs = x509.NewCertPool()
		if !out.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("tls-client-ca: " + c.TLSClientCA + " has no certificate in PEM form")
		}
		out.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return out, nil
}
