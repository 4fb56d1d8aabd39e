package resp

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// shown is a connection whose client showed a certificate.
type shown struct {
	net.Conn
	chain []*x509.Certificate
}

func (s shown) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{PeerCertificates: s.chain}
}

// A client went on with its certificate after it had ended, and had no
// rights that a new file of tokens gave it, until it connected again.
func TestCertificateIsJudgedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Pointer[server.Auth]
		read := func(tokens ...server.Token) {
			t.Helper()
			a := must(server.NewAuth(tokens))
			if old := now.Load(); old != nil {
				a.Replace(old)
			}
			now.Store(a)
		}
		other := token("other", "secret", func(*server.Token) {})
		read(other)
		cert := &x509.Certificate{Subject: pkix.Name{CommonName: "shop"}}
		p := pipeTo(t, Config{Auth: now.Load, Slow: time.Hour}, func(c net.Conn) net.Conn {
			cert.NotAfter = time.Now().Add(time.Minute)
			return shown{c, []*x509.Certificate{cert}}
		})
		next := func(when, code string) {
			t.Helper()
			got := p.do("SNOWFENCE.NEXT", "default")
			err, failed := got.(error)
			if failed != (code != "") || failed && !strings.HasPrefix(err.Error(), code) {
				t.Errorf("%s: %v", when, got)
			}
		}
		next("without an entry", "NOAUTH")
		read(other, server.Token{Name: "a", Certificate: "CN=shop"})
		next("with one", "")
		read(other, server.Token{Name: "b", Certificate: "CN=shop"})
		next("with one of another name", "")
		read(other)
		next("without it again", "NOAUTH")
		read(other, server.Token{Name: "b", Certificate: "CN=shop"})
		p.do("AUTH", "wrong")
		next("after a wrong token", "NOAUTH")
		p.do("RESET")
		next("after RESET", "")
		time.Sleep(time.Until(cert.NotAfter))
		next("in its last moment", "")
		time.Sleep(time.Nanosecond)
		next("after its end", "NOAUTH")
		p.do("RESET")
		next("after RESET at that time", "NOAUTH")
		p.do("AUTH", "secret")
		next("with a token", "")
		read(other)
		next("and after a reload", "")
	})
}
