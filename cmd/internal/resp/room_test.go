package resp

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/internal/tests"
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
		if p.do("SNOWFENCE.NEXT", "default") == "QUEUED" {
			queued++
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

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails
