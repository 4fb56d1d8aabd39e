package open

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
)

// tlsParams are the parameters of schemes that leave TLS to Go.
var tlsParams = []string{"tls", "tls_ca", "tls_cert", "tls_key", "tls_name", "tls_verify"}

// tlsGiven reports whether a parameter says how to talk TLS.
func (a *address) tlsGiven() bool {
	return slices.ContainsFunc(tlsParams[1:], func(name string) bool { return a.params[name] != "" })
}

// tlsConfig returns how to talk TLS; nil means not at all. With always the
// name of the scheme says so.
func (a *address) tlsConfig(always bool) (*tls.Config, error) {
	on, err := a.flagParam("tls", always || a.tlsGiven())
	if err != nil {
		return nil, err
	}
	switch {
	case !on && always:
		return nil, a.errorf("its scheme means TLS: leave tls=no out, or use the scheme without TLS")
	case !on && a.tlsGiven():
		return nil, a.errorf("tls=no is given beside settings of TLS: leave one of them out")
	case !on:
		return nil, nil
	}
	verify, err := a.flagParam("tls_verify", true)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.params["tls_name"], InsecureSkipVerify: !verify}
	if path := a.params["tls_ca"]; path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("store %s: tls_ca: %w", a.name(), err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("store %s: tls_ca: %s has no certificate in PEM form", a.name(), path)
		}
	}
	cert, key := a.params["tls_cert"], a.params["tls_key"]
	switch {
	case (cert == "") != (key == ""):
		return nil, a.errorf("tls_cert and tls_key belong together: give both")
	case cert != "":
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("store %s: tls_cert and tls_key: %w", a.name(), err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
