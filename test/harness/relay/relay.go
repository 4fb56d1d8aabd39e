// Package relay puts TCP proxies between clients and servers.
package relay

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

var must = tests.NoError

// A Relay hands connections on to a server. It is safe for concurrent use.
type Relay struct {
	Address string // where clients connect to

	requests, replies Hook

	mu   sync.Mutex
	to   string
	open map[*Conn]bool
}

// A Hook sees what comes, and returns what is handed on in its place. nil
// ends the connection.
type Hook func(c *Conn, b []byte) []byte

// Conn is a connection of a client, and one to the server.
type Conn struct {
	Client, Server net.Conn

	silent atomic.Bool
}

// Start starts a relay to an address. It ends with the test. A hook may be
// nil.
func Start(t testing.TB, to string, requests, replies Hook) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r := &Relay{Address: l.Addr().String(), requests: requests, replies: replies, to: to, open: map[*Conn]bool{}}
	t.Cleanup(func() {
		_ = l.Close() // ends the loop
		r.Turn("")
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go r.connect(client)
		}
	}()
	return r
}

func (r *Relay) connect(client net.Conn) {
	r.mu.Lock()
	to := r.to
	r.mu.Unlock()
	server, err := net.Dial("tcp", to)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &Conn{Client: client, Server: server}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to != to {
		c.end()
		return
	}
	r.open[c] = true
	go c.pass(client, server, r.requests)
	go c.pass(server, client, r.replies)
}

// pass hands on what comes until either side ends, which ends both.
func (c *Conn) pass(from, to net.Conn, hook Hook) {
	for b := make([]byte, 1<<16); ; {
		n, err := from.Read(b)
		if c.silent.Load() {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		on := b[:n]
		if hook != nil && n > 0 {
			on = hook(c, on)
		}
		if on != nil {
			_, _ = to.Write(on) // what fails is read from the other side
		}
		if err != nil || on == nil {
			c.end()
			return
		}
	}
}

func (c *Conn) end() {
	_ = c.Client.Close() // it may be closed already
	_ = c.Server.Close()
}

// Lead lets later connections go to another address.
func (r *Relay) Lead(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}

// Turn lets later connections go to another address, and ends the present
// ones.
func (r *Relay) Turn(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
	for c := range r.open {
		c.end()
	}
	clear(r.open)
}

// Silence lets all present connections swallow what comes, and end neither
// side, as when a machine behind a floating address vanishes. New ones
// work.
func (r *Relay) Silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.open {
		c.silent.Store(true)
	}
}
