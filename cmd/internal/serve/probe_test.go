package serve

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

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
