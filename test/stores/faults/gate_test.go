//go:build linux

package faults

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// gate is an HTTP proxy before a service. It answers some requests as the
// service does when it gets too many.
type gate struct {
	address string
	one     atomic.Int64 // of so many requests is refused
}

// refusal is how a service says that it got too many requests.
type refusal struct {
	status int
	header http.Header
	body   string
}

// newGate starts a gate before a service, which speaks TLS if there are
// certificates. It ends with the test.
func newGate(t testing.TB, address string, certs *servers.Certs, tooMany refusal) *gate {
	t.Helper()
	to := &url.URL{Scheme: "http", Host: address}
	transport := &http.Transport{}
	if certs != nil {
		to.Scheme, transport.TLSClientConfig = "https", certs.Client()
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }, Transport: transport,
	}
	g := &gate{}
	g.one.Store(1)
	var asked atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%g.one.Load() != 0 {
			proxy.ServeHTTP(w, r)
			return
		}
		for name, values := range tooMany.header {
			w.Header()[name] = values
		}
		w.WriteHeader(tooMany.status)
		_, _ = w.Write([]byte(tooMany.body)) // who is gone needs no answer
	}))
	if certs == nil {
		s.Start()
	} else {
		pair, err := tls.LoadX509KeyPair(certs.Cert, certs.Key)
		must(t, err)
		s.TLS, s.EnableHTTP2 = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, true
		s.StartTLS()
	}
	t.Cleanup(func() { s.CloseClientConnections(); s.Close(); transport.CloseIdleConnections() })
	g.address = s.Listener.Addr().String()
	return g
}

// busy lets the service refuse one of n requests.
func busy(n int64) func(t testing.TB, sc *scene) func() {
	return func(t testing.TB, sc *scene) func() {
		sc.gate.one.Store(n)
		return sc.link.Lead(t, sc.gate.address)
	}
}
