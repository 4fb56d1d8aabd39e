package serve

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Pages from anywhere, in a browser on this machine, reach nothing of a
// server that trusts everybody here: not from their own site, and not by a
// name that they made point here.
func TestPagesOfOtherSites(t *testing.T) {
	open := Config{Listeners: Listeners{HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", Pprof: true}}
	told := open
	told.OpenToNetwork = []string{"http"}
	known := open
	known.TokenList = []server.Token{{Name: "t", SHA256: strings.Repeat("0", 64)}}
	type headers map[string]string
	for name, c := range map[string]struct {
		cfg    Config
		method string
		path   string
		send   headers
		http   int
		admin  int // 0 where it is not asked
	}{
		"curl":                       {open, "GET", "/v1", nil, 200, 0},
		"localhost":                  {open, "GET", "/v1", headers{"Host": "localhost:8080"}, 200, 0},
		"IPv6":                       {open, "GET", "/v1", headers{"Host": "[::1]:8080"}, 200, 0},
		"another name":               {open, "GET", "/v1", headers{"Host": "evil.example:8080", "Sec-Fetch-Site": "same-origin"}, 403, 0},
		"a name that looks like one": {open, "GET", "/v1", headers{"Host": "127.0.0.1.evil.example"}, 403, 0},
		"a proxy, said so":           {told, "GET", "/v1", headers{"Host": "ids.example"}, 200, 0},
		"with tokens":                {known, "GET", "/v1", headers{"Host": "ids.example"}, 401, 0},
		"another site's page makes":  {open, "POST", "/v1/default/next", headers{"Sec-Fetch-Site": "cross-site"}, 403, 0},
		"another site's page frees":  {open, "DELETE", "/v1/default/leases/5", headers{"Sec-Fetch-Site": "cross-site"}, 403, 0},
		"and over Connect": {
			open, "POST", "/snowfence.v1.LeaseService/ReleaseNode", headers{"Origin": "https://evil.example"}, 403, 0,
		},
		"in an old browser":       {open, "POST", "/v1/default/next", headers{"Origin": "http://evil.example"}, 403, 0},
		"the dashboard":           {open, "POST", "/v1/default/next", headers{"Sec-Fetch-Site": "same-origin"}, 200, 0},
		"another site's image":    {open, "GET", "/v1/default/next?n=1000000", headers{"Sec-Fetch-Site": "cross-site"}, 403, 0},
		"another port's image":    {open, "GET", "/v1/default/next", headers{"Sec-Fetch-Site": "same-site"}, 403, 0},
		"another site's video":    {open, "GET", "/v1/default/stream", headers{"Sec-Fetch-Site": "cross-site"}, 403, 0},
		"another site's question": {open, "HEAD", "/v1/bills/sequence/next", headers{"Sec-Fetch-Site": "cross-site"}, 403, 0},
		"another site's number":   {open, "GET", "/v1/bills/sequence/next", headers{"Origin": "http://evil.example"}, 403, 0},
		"the address bar":         {open, "GET", "/v1/default/next", headers{"Sec-Fetch-Site": "none"}, 200, 0},
		"a link to an ID":         {open, "GET", "/v1/default/decode/1", headers{"Sec-Fetch-Site": "cross-site"}, 200, 0},
		"a link to the dashboard": {open, "GET", "/dashboard", headers{"Sec-Fetch-Site": "cross-site"}, 200, 0},
		"metrics":                 {open, "GET", "/metrics", nil, 200, 200},
		"metrics by another name": {open, "GET", "/metrics", headers{"Host": "evil.example"}, 403, 403},
		"heap by another name":    {known, "GET", "/debug/pprof/heap", headers{"Host": "evil.example"}, 404, 403},
		"heap":                    {known, "GET", "/debug/pprof/heap", nil, 404, 200},
		"heap from another site":  {known, "GET", "/debug/pprof/heap", headers{"Sec-Fetch-Site": "cross-site"}, 404, 403},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := start(t, c.cfg, newStore(t))
			ask := func(address string, want int) {
				t.Helper()
				req := must(http.NewRequest(c.method, "http://"+address+c.path, nil))
				for k, v := range c.send {
					req.Header.Set(k, v)
				}
				if h := req.Header.Get("Host"); h != "" {
					req.Host = h
				}
				res := must(http.DefaultClient.Do(req))
				res.Body.Close()
				if res.StatusCode != want {
					t.Errorf("%s on %s: %s, not %d", c.path, address, res.Status, want)
				}
			}
			ask(p.HTTP, c.http)
			if c.admin != 0 {
				ask(p.Admin, c.admin)
			}
		})
	}
}

// A server is asked whether it lives on each kind of listener, with TLS and
// tokens too; and one that is not there is not alive.
func TestAsk(t *testing.T) {
	ca, cert, key := newCertificate(t)
	tokens := []server.Token{token("a", "secret", server.VerbIDs)}
	for name, c := range map[string]Config{
		"http":  {},
		"https": {Access: Access{TLSCert: cert, TLSKey: key, TokenList: tokens}},
		"admin": {Listeners: Listeners{Admin: "127.0.0.1:0"}, Access: Access{TLSCert: cert, TLSKey: key, TLSClientCA: ca.file}},
		"resp":  {Listeners: Listeners{RESP: "127.0.0.1:0"}},
		"resps": {Listeners: Listeners{RESP: "127.0.0.1:0"}, Access: Access{TLSCert: cert, TLSKey: key, TokenList: tokens}},
	} {
		p, _ := start(t, c, newStore(t))
		c.HTTP, c.RESP, c.Admin = p.HTTP, p.RESP, p.Admin
		if strings.HasPrefix(name, "resp") {
			c.HTTP = ""
		}
		wantErr(t, Probe(t.Context(), c, "/healthz"), nil, "%s", name)
		ctx, cancel := context.WithTimeout(context.Background(), patienceOfTests)
		defer cancel()
		noError(t, p.Stop(ctx))
		fails(t, Probe(t.Context(), c, "/healthz"), "%s: alive after its end", name)
	}
	closed := Config{Listeners: Listeners{HTTP: "127.0.0.1:1"}, Access: Access{TLSCert: cert, TLSClientCA: ca.file}}
	says(t, Probe(t.Context(), closed, "/healthz"), "admin address", "client certificates")
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	for _, l := range []Listeners{{HTTP: ":" + port}, {RESP: "0.0.0.0:" + port}} {
		fails(t, Probe(t.Context(), Config{Listeners: l}, "/healthz"), "%+v: another program is taken for a server", l)
	}
}
