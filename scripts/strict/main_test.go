package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
{"Action":"fail","Package":"q","Elapsed":0.5}
`
	const want = `no server
ok	p	1.500s
plain words of the go command
broken
FAIL	q	0.500s	TestC
`
	var got strings.Builder
	r := newReport(&got)
	err := r.read(strings.NewReader(stream))
	if err != nil || r.skipped != 1 || got.String() != want {
		t.Errorf("report = %d, %v, %q; want 1, nil, %q", r.skipped, err, got.String(), want)
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
		err := r.read(strings.NewReader(stream))
		if err != nil || r.skipped != want || !strings.Contains(got.String(), "left out") {
			t.Errorf("SNOWFENCE_LEAVE_OUT=%q: report = %d, %v, %q; want %d skipped and the reason",
				value, r.skipped, err, got.String(), want)
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
		if err := r.read(strings.NewReader(stream)); err != nil || r.skipped != want || r.later != 1-want {
			t.Errorf("short %t: %d skipped, %d left to make full, %v", short, r.skipped, r.later, err)
		}
	}
}

// TestStopped: the streams are of the go command for a package that was stopped in
// eight ways.
func TestStopped(t *testing.T) {
	for name, want := range map[string][]string{
		"hang": {
			"    a_test.go:4: before the wait\npanic: test timed out after 2s\n\trunning tests:\n\t\tTestWaits (2s)\n",
			"goroutine 9 [sleep]:",
			"FAIL\texample.com/hang\t2.012s\tstopped (panic: test timed out after 2s) in TestWaits/inner (after 2s)\n",
		},
		"para":   {"example.com/para\t2.092s\tstopped (panic: test timed out after 2s) in TestA (after 2s), TestB (after 2s)\n"},
		"boom":   {"panic: in a goroutine\n", "stopped (panic: in a goroutine) in TestBoom (after 0s)\n"},
		"gone":   {"    a_test.go:3: on the way out\n", "stopped (it gave no reason) in TestExits (after 0s)\n"},
		"killed": {"last words\n", "stopped (signal: killed) in TestKilled (after 0s)\n"},
		"vanish": {"panic: unexpected call to os.Exit(0) during test", "FAIL\texample.com/vanish\t0.009s\tTestExits\n"},
		"broken": {"broken/a_test.go:3:33: undefined: nowhere\n", "FAIL\texample.com/broken\t0.000s\t[build failed]\n"},
		"setup":  {"no required module provides package", "FAIL\texample.com/setup\t0.000s\t[setup failed]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := os.Open(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			var got strings.Builder
			r := newReport(&got)
			if err := r.read(in); err != nil {
				t.Fatal(err)
			}
			r.end(time.Now())
			for _, s := range want {
				if !strings.Contains(got.String(), s) {
					t.Errorf("it says\n%s\nand not %q", got.String(), s)
				}
			}
			if len(r.failed) != 1 || !strings.HasSuffix(got.String(),
				"strict: 1 package(s) failed:\n"+r.failed[0]+"\n") {
				t.Errorf("it says\n%s\nand at its end not which package failed", got.String())
			}
		})
	}
}

// TestCutOff: a stream that breaks off, and a run that is stopped, say what was under way.
func TestCutOff(t *testing.T) {
	const stream = `{"Time":"2026-01-01T00:00:00Z","Action":"start","Package":"p"}
{"Time":"2026-01-01T00:00:00Z","Action":"run","Package":"p","Test":"TestA"}
{"Time":"2026-01-01T00:00:01Z","Action":"output","Package":"p","Test":"TestA","Output":"half of it\n"}
`
	now := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	for why, stop := range map[string]func(*report){
		"terminated":           func(r *report) { r.interrupted("terminated", now) },
		"the go command ended": func(r *report) { r.end(now) },
	} {
		var got strings.Builder
		r := newReport(&got)
		if err := r.read(strings.NewReader(stream)); err != nil {
			t.Fatal(err)
		}
		stop(r)
		if want := "half of it\nFAIL\tp\tstopped (" + why +
			") in TestA (after 1m0s)\n"; !strings.HasPrefix(got.String(), want) || len(r.failed) != 1 {
			t.Errorf("it says %q, want %q", got.String(), want)
		}
	}
}
