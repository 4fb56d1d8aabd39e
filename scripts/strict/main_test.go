package main

import (
	"io"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const stream = `{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"no server\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Elapsed":1.5}
{"Action":"skip","Package":"no/test/files"}
plain words of the go command
{"Action":"output","Package":"q","Test":"TestC","Output":"broken\n"}
{"Action":"fail","Package":"q","Test":"TestC"}
{"Action":"output","Package":"q","Test":"TestD","Output":"panic: here\n"}
{"Action":"fail","Package":"q","Elapsed":0.5}
{"Action":"start","Package":"r"}
`
	const want = `no server
ok	p	1.500s
plain words of the go command
broken
panic: here
FAIL	q	0.500s	TestC	TestD did not end
FAIL	r	stopped
strict: 2 package(s) failed:
FAIL	q	0.500s	TestC	TestD did not end
FAIL	r	stopped
`
	var got strings.Builder
	r := newReport(&got)
	err := r.readEvents(strings.NewReader(stream))
	r.writeEnd()
	if err != nil || r.skips != 1 || got.String() != want {
		t.Errorf("report = %d, %v, %q; want 1, nil, %q", r.skips, err, got.String(), want)
	}
}

func TestLeftOut(t *testing.T) {
	const stream = `{"Action":"output","Package":"p","Test":"TestA","Output":"mysql: left out as asked by SNOWFENCE_LEAVE_OUT\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
`
	for value, want := range map[string]int{"": 1, "mysql": 0} {
		t.Setenv("SNOWFENCE_LEAVE_OUT", value)
		var got strings.Builder
		r := newReport(&got)
		err := r.readEvents(strings.NewReader(stream))
		if err != nil || r.skips != want || !strings.Contains(got.String(), "left out") {
			t.Errorf("SNOWFENCE_LEAVE_OUT=%q: report = %d, %v, %q; want %d skipped and the reason",
				value, r.skips, err, got.String(), want)
		}
	}
}

// TestLeftToFull: -short alone may leave tests out.
func TestLeftToFull(t *testing.T) {
	const stream = `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: left to make full\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
`
	for short, want := range map[bool]int{true: 0, false: 1} {
		r := newReport(io.Discard)
		r.short = short
		if err := r.readEvents(strings.NewReader(stream)); err != nil || r.skips != want || r.later != 1-want {
			t.Errorf("short %t: %d skipped, %d left to make full, %v", short, r.skips, r.later, err)
		}
	}
}
