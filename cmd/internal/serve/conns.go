package serve

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// gate is a listener with a limit. It refuses who comes beyond it at once: one who is
// made to wait does not know why.
type gate struct {
	net.Listener
	*server.Meter
	most     int64
	farewell []byte // to those who are refused; nil where TLS comes first
}

// Accept implements [net.Listener].
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g.Connections.Add(1) <= g.most {
			return &counted{Conn: c, leave: sync.OnceFunc(func() { g.Connections.Add(-1) })}, nil
		}
		g.Connections.Add(-1)
		g.Refused.Add(1)
		if g.farewell != nil {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // it fits into the socket's buffer, so nothing waits
			_, _ = c.Write(g.farewell)
		}
		_ = c.Close()
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}

// fullHTTP is what a client of HTTP/1.1 understands.
var fullHTTP = []byte("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: " +
	"close\r\nContent-Length: 0\r\n\r\n")

// shaking is a listener of TLS whose clients have to introduce themselves in time.
// net/http sees to that itself.
type shaking struct {
	net.Listener
	conf *tls.Config
	slow time.Duration
}

// Accept implements [net.Listener].
func (s *shaking) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &shakingConn{Conn: tls.Server(c, s.conf), slow: s.slow}, nil
}

type shakingConn struct {
	*tls.Conn
	slow time.Duration
	done bool // known to the goroutine that reads
}

// Read implements [net.Conn]. The first one waits for the handshake.
func (s *shakingConn) Read(b []byte) (int, error) {
	if !s.done {
		ctx, cancel := context.WithTimeout(context.Background(), s.slow)
		defer cancel()
		if err := s.HandshakeContext(ctx); err != nil {
			return 0, err
		}
		s.done = true
	}
	return s.Conn.Read(b)
}
