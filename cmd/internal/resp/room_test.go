package resp

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// The buffers of ten thousand clients with large pipelines were a gigabyte,
// beside the bound.
func TestLargeBuffersHaveRoom(t *testing.T) {
	s, addr := start(t, Config{})
	service := s.cfg.Service
	var others server.Caller
	noError(t, service.Reserve(&others, server.MostRoom-server.BufferRoom/2))
	p := dial(t, addr)
	const many = 3000
	p.send(strings.Repeat("SNOWFENCE.NEXT default\r\nPING\r\n", many)) // in small pieces
	for range many {
		p.id(p.reply())
		if got := p.reply(); got != "PONG" {
			t.Fatal(got)
		}
	}
	if ids := p.do("SNOWFENCE.NEXT", "default", "COUNT", "400"); len(ids.([]any)) != 400 {
		t.Error(ids)
	}
	if got := p.do("MULTI"); got != "OK" {
		t.Fatal(got)
	}
	queued := 0
	for range 100 {
		if got := p.do("SNOWFENCE.NEXT", "default"); got == "QUEUED" {
			queued++
		} else {
			p.fails(got, "LIMIT")
		}
	}
	if queued < 10 || queued == 100 {
		t.Errorf("%d commands in MULTI", queued)
	}
	p.do("DISCARD")
	p.fails(p.do("PING", strings.Repeat("x", 3*firstBuffer)), "LIMIT")
	service.Ended(&others)
	for range 20 { // each has its room, and gives it back
		p = dial(t, addr)
		if got := p.do("PING", strings.Repeat("x", 3*firstBuffer)); len(got.(string)) != 3*firstBuffer {
			t.Fatal(got)
		}
		p.do("QUIT")
		noError(t, service.Reserve(&others, server.MostRoom-19*server.BufferRoom))
		service.Ended(&others)
	}
}

// onWrite calls a function before each write of its connections.
type onWrite struct {
	net.Listener
	do func()
}

type watchedConn struct {
	net.Conn
	do func()
}

func (l *onWrite) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return watchedConn{c, l.do}, err
}

func (c watchedConn) Write(b []byte) (int, error) {
	c.do()
	return c.Conn.Write(b)
}

// Large replies had no room while they waited for their client.
func TestLargeRepliesHaveRoom(t *testing.T) {
	st := store.NewMemory()
	layout := must(snowfence.ParseLayout("tag=12,time=41,node=4,seq=6,epoch=2025-01-01"))
	must(scope.Namespaces(st).Create(t.Context(), "default", must(snowfence.NewScheme(layout)), nil))
	cfg := bounded(Config{Service: server.New(st, server.Options{}), Auth: sync.OnceValue(server.Open)})
	defer func() { noError(t, cfg.Service.Close(context.Background())) }()
	var without atomic.Int64
	ln := &onWrite{must(net.Listen("tcp", "127.0.0.1:0")), func() {
		var all server.Caller
		if cfg.Service.Reserve(&all, server.MostRoom-2*server.BufferRoom) == nil {
			without.Add(1)
		}
		cfg.Service.Ended(&all)
	}}
	s, served := New(cfg), make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	p := dial(t, ln.Addr().String())
	ranges := []string{"SNOWFENCE.RANGE", "default", "0", "1767225600000"}
	var others server.Caller
	noError(t, cfg.Service.Reserve(&others, server.MostRoom))
	p.fails(p.do(ranges...), "LIMIT")
	cfg.Service.Ended(&others)
	without.Store(0)
	if list, _ := p.do(ranges...).([]any); len(list) != 4096 {
		t.Fatalf("%d ranges", len(list))
	}
	if n := without.Load(); n > 0 {
		t.Errorf("%d writes of ranges without room", n)
	}
	noError(t, s.Shutdown(t.Context()))
	noError(t, <-served)
}

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails
