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
