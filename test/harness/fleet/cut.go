package fleet

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// Cutter is a TCP proxy that can lose the answer to a request.
type Cutter struct {
	Port int

	mu   sync.Mutex
	to   string // the address that new connections go to
	word []byte // of the request that gets no answer; nil for none
	cuts int
}

// NewCutter starts a proxy to an address. It ends with the test.
func NewCutter(t testing.TB, address string) *Cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &Cutter{Port: l.Addr().(*net.TCPAddr).Port, to: address}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			to := c.to
			c.mu.Unlock()
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			c.passBothWays(client, server)
		}
	}()
	return c
}

// passBothWays hands bytes on both ways. Once the word was seen, the next
// answer goes nowhere: it is read, because then the server has done its
// work, and the connection closed.
func (c *Cutter) passBothWays(client, server net.Conn) {
	var mu sync.Mutex
	cut := false
	go func() {
		defer server.Close()
		buf := make([]byte, 1<<20)
		for {
			n, err := client.Read(buf)
			if err != nil {
				return
			}
			if c.seesWord(buf[:n]) {
				mu.Lock()
				cut = true
				mu.Unlock()
			}
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	go func() {
		defer client.Close()
		buf := make([]byte, 1<<20)
		for {
			n, err := server.Read(buf)
			mu.Lock()
			lost := cut
			mu.Unlock()
			if err != nil || lost {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
}

func (c *Cutter) seesWord(b []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.word == nil || !bytes.Contains(b, c.word) {
		return false
	}
	c.word = nil
	c.cuts++
	return true
}

// Cut loses the answer to the next request that has the word in it.
func (c *Cutter) Cut(word string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.word = []byte(word)
}

// Lead lets new connections go to another address.
func (c *Cutter) Lead(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = address
}

// Cuts is how many answers were lost.
func (c *Cutter) Cuts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}
