package serve

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/rest"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Browsers run pages from anywhere on machines where a server trusts
// everybody. Such a page reaches it in two ways. A request to another site
// is marked by browsers, and its answer is hidden from the page. A name of
// its own can point to this machine (DNS rebinding): to the browser, that
// is no other site. What gives the second one away is the name.

// sameOrigin refuses requests that pages of other sites make. On a listener
// for this machine alone without tokens, it also refuses requests for
// another host than this machine.
func (p *Process) sameOrigin(l listener, next http.Handler) http.Handler {
	named := p.cfg.localOnly(l)
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := cross.Check(r)
		switch {
		case err != nil:
			err = errors.New("a page of another site must not change anything here")
		case named && !isLoopbackHost(r.Host):
			err = fmt.Errorf("host %q: this address is for localhost and 127.0.0.1, because it needs no "+
				"token; behind a proxy, let the proxy send the host localhost, give the server tokens, or say "+
				"--open-to-network=%s", r.Host, l.name)
		}
		if err != nil {
			err = server.NewError(server.Denied, err)
			p.countRefused(r, err)
			rest.Problem(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// countRefused counts a request that failed before it came to a wire.
func (p *Process) countRefused(r *http.Request, err error) {
	p.service.Failed(wireOf(r), err, func() server.Request {
		return server.Request{Name: server.Clip(r.Method + " " + r.URL.Path), From: r.RemoteAddr}
	})
}

// wireOf returns the wire of an HTTP request: gRPC has paths of its own.
func wireOf(r *http.Request) server.Wire {
	if strings.HasPrefix(r.URL.Path, "/snowfence.v1.") || strings.HasPrefix(r.URL.Path, "/grpc.") {
		return server.RPC
	}
	return server.HTTP
}

// refuseCrossSite refuses all that pages of other sites ask for: there is
// no reason to link to the admin address.
func refuseCrossSite(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		if r.Header.Get("Origin") != "" || site == "cross-site" || site == "same-site" {
			http.Error(w, "requests of other sites are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// localOnly reports whether a listener serves all users of this machine,
// and no others.
func (c *Config) localOnly(l listener) bool {
	if c.openTo(l.name) || l.name != "admin" && c.authenticates() {
		return false
	}
	_, socket := socketPath(l.address) // no browser asks there
	local, err := isLoopback(l.address)
	return err == nil && local && !socket
}

// isLoopbackHost reports whether the host of a request, with or without a
// port, is a name that only the loopback interface can have.
func isLoopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || ip != nil && ip.IsLoopback()
}
