package main

import (
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
{"Action":"fail","Package":"q","Elapsed":0.5}
`
	const want = `no server
ok	p	1.500s
plain words of the go command
broken
FAIL	q	0.500s
`
	var got strings.Builder
	skipped, err := report(&got, strings.NewReader(stream))
	if err != nil || skipped != 1 || got.String() != want {
		t.Errorf("report = %d, %v, %q; want 1, nil, %q", skipped, err, got.String(), want)
	}
}

func TestLeftOut(t *testing.T) {
	const stream = `{"Action":"output","Package":"p","Test":"TestA","Output":"mysql: left out as asked by SNOWFENCE_LEAVE_OUT\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
`
	for value, want := range map[string]int{"": 1, "mysql": 0} {
		t.Setenv("SNOWFENCE_LEAVE_OUT", value)
		var got strings.Builder
		skipped, err := report(&got, strings.NewReader(stream))
		if err != nil || skipped != want || !strings.Contains(got.String(), "left out") {
			t.Errorf("SNOWFENCE_LEAVE_OUT=%q: report = %d, %v, %q; want %d skipped and the reason", value, skipped, err, got.String(), want)
		}
	}
}
