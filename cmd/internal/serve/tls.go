package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// certificates are the files of TLS, read again when they change, so that a
// renewed certificate needs no restart.
type certificates struct {
	cert, key, ca string
	reloader
	until  time.Time                           // clients are refused after that
	ends   atomic.Pointer[map[string]validity] // by "server" and "client-ca"
	config atomic.Pointer[tls.Config]
}

// newCertificates reads the files; nil without TLS.
func newCertificates(c *Config) (*certificates, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	t := &certificates{cert: c.TLSCert, key: c.TLSKey, ca: c.TLSClientCA}
	t.reloader = reloader{logger: c.Logger, text: "the certificate was changed and cannot be used: the old one " +
		"stays in use"}
	t.seen.changed(t.cert, t.key, t.ca) // before they are read, so that no change in between is missed
	return t, t.readFiles()
}

func (t *certificates) readFiles() error {
	cert, err := readFile(t.cert)
	key, err2 := readFile(t.key)
	var pair tls.Certificate
	if err = errors.Join(err, err2); err == nil {
		pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", t.cert, t.key, Explain(err))
	}
	until := pair.Leaf.NotAfter
	ends := map[string]validity{"server": validityOf(cert)}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if t.ca != "" {
		pem, err := readFile(t.ca)
		if err != nil {
			return fmt.Errorf("tls-client-ca: %w", Explain(err))
		}
		conf.ClientCAs = x509.NewCertPool()
		if !conf.ClientCAs.AppendCertsFromPEM(pem) {
			return errors.New("tls-client-ca: " + t.ca + " has no certificate in PEM form")
		}
		conf.ClientAuth = tls.RequireAndVerifyClientCert
		ca := validityOf(pem)
		ends["client-ca"] = ca
		if ca.last.Before(until) {
			until = ca.last
		}
	}
	if err := t.keepGood(until); err != nil {
		return err
	}
	t.until = until
	t.ends.Store(&ends)
	t.config.Store(conf)
	return nil
}

// keepGood is an error if an ended certificate would replace a good one.
func (t *certificates) keepGood(until time.Time) error {
	if now := time.Now(); now.After(until) && now.Before(t.until) {
		return fmt.Errorf("certificate %s ended at %s: renew it", t.cert, until.UTC().Format(time.RFC3339))
	}
	return nil
}

// reloadFiles reads the files again if they changed. If one cannot be read,
// or they do not fit each other, the old ones stay in use, and the next
// call tries again: programs rarely write both at once.
func (t *certificates) reloadFiles() {
	if t.readAgain(t.readFiles, t.cert, t.key, t.ca) {
		t.logger.Info("certificate read again", "file", t.cert)
		t.logWarnings(t.warnings)
	}
}

// replaceWith takes over the certificate of other settings.
func (t *certificates) replaceWith(next *certificates) {
	t.cert, t.key, t.ca = next.cert, next.key, next.ca
	t.noteSuccess(next.seen)
	t.until = next.until
	t.ends.Store(next.ends.Load())
	t.config.Store(next.config.Load())
	t.logWarnings(t.warnings)
}

// tlsConfig returns the configuration of a listener for the protocols, the
// first one preferred.
func (t *certificates) tlsConfig(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			conf := t.config.Load().Clone()
			conf.NextProtos = protocols
			return conf, nil
		},
	}
}

// publicKey names the key of the certificate in use; "" without TLS.
func (t *certificates) publicKey() string {
	if t == nil {
		return ""
	}
	return server.KeyOf(t.config.Load().Certificates[0].Leaf)
}

// warnings says which certificates end soon.
func (t *certificates) warnings(now time.Time) (list []string) {
	ends := *t.ends.Load()
	for _, f := range [][2]string{{"server", t.cert}, {"client-ca", t.ca}} {
		if text := ends[f[0]].warning(f[1], now); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// reportEnds calls each with the first end of the certificates in use.
func (t *certificates) reportEnds(each func(which string, end time.Time)) {
	if t == nil {
		return
	}
	for which, v := range *t.ends.Load() {
		each(which, v.end)
	}
}
