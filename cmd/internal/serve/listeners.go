package serve

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// limitListener is a listener with a limit. It refuses a client beyond it
// at once: a waiting client does not know why it waits.
type limitListener struct {
	net.Listener
	*server.Meter
	limit   int
	refusal []byte                            // to those who are refused; nil where TLS comes first
	user    func(c net.Conn) *server.Identity // at a socket of an agent; nil elsewhere
}

// Accept implements [net.Listener].
func (g *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		user := g.user(c)
		if place := g.Enter(c.RemoteAddr(), user, g.limit); place != nil {
			return &placedConn{c, place, user}, nil
		}
		if g.refusal != nil {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // it fits into the socket's buffer, so nothing waits
			_, _ = c.Write(g.refusal)
		}
		_ = c.Close()
	}
}

// placedConn is a connection that has a place until it is closed.
type placedConn struct {
	net.Conn
	place *server.Place
	user  *server.Identity // nil where it is not known
}

// Close implements [net.Conn].
func (c *placedConn) Close() error {
	c.place.Leave()
	return c.Conn.Close()
}

// withPlace lets the requests of a connection find its place and its owner.
func withPlace(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	placed := c.(*placedConn)
	if placed.user != nil {
		ctx = context.WithValue(ctx, userKey{}, placed.user)
	}
	return context.WithValue(ctx, placeKey{}, placed.place)
}

// claimPlace counts the connection of a request for the token of its first
// one, and returns why that token has too many.
func (t *tokens) claimPlace(r *http.Request) error {
	place, ok := r.Context().Value(placeKey{}).(*server.Place)
	if !ok || place.Claimed() {
		return nil
	}
	id, err := t.identifyRequest(r)
	if err != nil {
		return nil // the handler says so
	}
	return place.Claim(id)
}

// busyResponse is an answer for clients of HTTP/1.1.
var busyResponse = []byte("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: " +
	"close\r\nContent-Length: 0\r\n\r\n")

// tlsListener is a listener of TLS with a deadline for the handshake.
// net/http has its own deadline.
type tlsListener struct {
	net.Listener
	conf    *tls.Config
	timeout time.Duration
}

// Accept implements [net.Listener].
func (s *tlsListener) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsConn{Conn: tls.Server(c, s.conf), timeout: s.timeout}, nil
}

type tlsConn struct {
	*tls.Conn
	timeout       time.Duration
	handshakeDone bool // known to the goroutine that reads
}

// Read implements [net.Conn]. The first one waits for the handshake.
func (s *tlsConn) Read(b []byte) (int, error) {
	if !s.handshakeDone {
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
		defer cancel()
		if err := s.HandshakeContext(ctx); err != nil {
			return 0, err
		}
		s.handshakeDone = true
	}
	return s.Conn.Read(b)
}

// keptFiles is how many of the files that the system allows are kept for
// health and metrics, the store and its logs, whatever clients do.
const keptFiles = 128

// Connections returns how many connections HTTP and the Redis protocol may
// have each: as many as the settings say, or as the system allows. admin is
// how many the admin address may have.
func Connections(most int) (each, admin int) {
	files := mostFiles()
	kept := min(keptFiles, files/4)
	return min(most, (files-kept)/2), kept / 2
}
