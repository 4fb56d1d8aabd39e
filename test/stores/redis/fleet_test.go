//go:build unix

package redis

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
)

const namespace = "ids"

// newFleet returns a fleet over a store, in a namespace that it makes.
func newFleet(t testing.TB, st store.Store) *shared.Fleet {
	t.Helper()
	f := shared.New(t, func(string) store.Store { return st })
	f.Namespace("")
	return f
}

// relay hands connections on to a server, which can be exchanged behind the
// clients' backs.
type relay struct {
	l      net.Listener
	mu     sync.Mutex
	target string
	deaf   bool // the next reply goes nowhere, and its connection is closed instead
	conns  map[net.Conn]bool
	// what it answers itself, instead of the server; nil hands on. Set
	// before the first connection
	answer func(asked []byte) []byte
	alter  func(reply []byte) []byte // what becomes of replies
}

func newRelay(t testing.TB, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{l: l, target: target, conns: map[net.Conn]bool{}}
	go r.serve()
	t.Cleanup(func() {
		_ = l.Close() // ends serve
		r.turn("")
	})
	return r
}

func (r *relay) serve() {
	for {
		c, err := r.l.Accept()
		if err != nil {
			return
		}
		go r.hand(c)
	}
}

// turn sends later connections to another server and ends the present ones.
func (r *relay) turn(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
	for c := range r.conns {
		_ = c.Close() // it may be closed already
	}
	clear(r.conns)
}

// deafen closes a connection instead of handing the next reply on.
func (r *relay) deafen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaf = true
}

func (r *relay) hand(c net.Conn) {
	defer c.Close()
	r.mu.Lock()
	target := r.target
	r.mu.Unlock()
	up, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer up.Close()
	r.mu.Lock()
	if r.target != target {
		r.mu.Unlock()
		return
	}
	r.conns[c], r.conns[up] = true, true
	r.mu.Unlock()
	go func() {
		defer up.Close()
		if r.answer == nil {
			_, _ = io.Copy(up, c) // the end of either side ends both
			return
		}
		for b := make([]byte, 1<<16); ; {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			to, text := net.Conn(up), b[:n]
			if own := r.answer(text); own != nil {
				to, text = c, own
			}
			if _, err := to.Write(text); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 1<<16)
	for {
		n, err := up.Read(b)
		r.mu.Lock()
		deaf := r.deaf && err == nil
		r.deaf = r.deaf && !deaf
		r.mu.Unlock()
		if err != nil || deaf {
			return
		}
		reply := b[:n]
		if r.alter != nil {
			reply = r.alter(reply)
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

func (r *relay) address() string { return r.l.Addr().String() }

// short bounds a call to a store that is hurt.
func short(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
