package serve

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// limitListener is a listener with a limit. It refuses who comes beyond it at once: one who is
// made to wait does not know why.
type limitListener struct {
	net.Listener
	*server.Meter
	limit   int64
	refusal []byte // to those who are refused; nil where TLS comes first
}

// Accept implements [net.Listener].
func (g *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g.Connections.Add(1) <= g.limit {
			return &countedConn{Conn: c, release: sync.OnceFunc(func() { g.Connections.Add(-1) })}, nil
		}
		g.Connections.Add(-1)
		g.Refused.Add(1)
		if g.refusal != nil {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // it fits into the socket's buffer, so nothing waits
			_, _ = c.Write(g.refusal)
		}
		_ = c.Close()
	}
}

// countedConn is a connection that counts until it is closed.
type countedConn struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	c.release()
	return c.Conn.Close()
}

// busyResponse is what a client of HTTP/1.1 understands.
var busyResponse = []byte("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: " +
	"close\r\nContent-Length: 0\r\n\r\n")

// tlsListener is a listener of TLS whose clients have to introduce themselves in time.
// net/http sees to that itself.
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
	timeout    time.Duration
	handshaken bool // known to the goroutine that reads
}

// Read implements [net.Conn]. The first one waits for the handshake.
func (s *tlsConn) Read(b []byte) (int, error) {
	if !s.handshaken {
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
		defer cancel()
		if err := s.HandshakeContext(ctx); err != nil {
			return 0, err
		}
		s.handshaken = true
	}
	return s.Conn.Read(b)
}
