//go:build unix

package workerid

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/test/harness/fleet"
)

// gate hands connections on to a server, and holds back what comes with a
// command until it is released.
type gate struct {
	l       net.Listener
	met     chan struct{} // closed when the command has come
	open    chan struct{} // closed by release
	once    sync.Once
	release func()
}

// hold starts a gate for a command, such as "set KEY".
func hold(t testing.TB, server, command string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{l: l, met: make(chan struct{}), open: make(chan struct{})}
	g.release = sync.OnceFunc(func() { close(g.open) })
	t.Cleanup(func() {
		_ = l.Close() // ends the loop
		g.release()
	})
	words := strings.Fields(command)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.hand(c, server, []byte(words[0]+"\r\n$"), []byte(words[1]+"\r\n"))
		}
	}()
	return g
}

func (g *gate) hand(c net.Conn, server string, verb, key []byte) {
	defer c.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	go func() {
		defer c.Close()
		_, _ = io.Copy(c, up) // the end of either side ends both
	}()
	for b := make([]byte, 1<<16); ; {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		if bytes.Contains(b[:n], verb) && bytes.Contains(b[:n], key) {
			g.once.Do(func() { close(g.met) })
			<-g.open
		}
		if _, err := up.Write(b[:n]); err != nil {
			return
		}
	}
}

func (g *gate) address() string { return g.l.Addr().String() }

// wait waits until the command has come.
func (g *gate) wait(t testing.TB) {
	t.Helper()
	select {
	case <-g.met:
	case <-time.After(fleet.Patience()):
		t.Fatal("the command does not come")
	}
}
