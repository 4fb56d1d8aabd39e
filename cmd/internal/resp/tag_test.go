package resp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/scope"
)

// A tag is in each ID of a command, and in no command after it.
func TestTags(t *testing.T) {
	srv, addr := start(t, Config{})
	scheme := must(snowfence.NewScheme(snowfence.MustLayout("tag=2,time=41,node=8,seq=8")))
	must(scope.Namespaces(srv.cfg.Service.Store()).Create(t.Context(), "orders", scheme, nil))
	p := dial(t, addr)
	tagOf := func(reply any) int64 {
		t.Helper()
		parts := must(scheme.Decode(p.id(reply)))
		return parts.Tag
	}
	for range 3 { // equal commands are made together
		p.send(strings.Repeat(encode("SNOWFENCE.NEXT", "orders"), 2))
		p.send(strings.Repeat(encode("SNOWFENCE.NEXT", "orders", "TAG", "3"), 2))
	}
	for i := range 12 {
		if got, want := tagOf(p.reply()), int64(i/2%2*3); got != want {
			t.Errorf("reply %d has the tag %d, not %d", i, got, want)
		}
	}
	for _, options := range []string{"COUNT 1 TAG 2", "tag 2 count 1000"} {
		list := p.do(append([]string{"SNOWFENCE.NEXT", "orders"}, strings.Fields(options)...)...).([]any)
		for _, reply := range list {
			if tagOf(reply) != 2 {
				t.Fatalf("%s: %v", options, reply)
			}
		}
	}
	for _, run := range p.do("SNOWFENCE.NEXT", "orders", "COUNT", "1000", "RUNS", "TAG", "1").([]any) {
		if r := run.([]any); tagOf(r[0]) != 1 || tagOf(r[1]) != 1 {
			t.Errorf("run %v", r)
		}
	}
	for _, wrong := range []string{
		"orders TAG 4", "orders TAG -1", "orders TAG", "orders TAG x", "orders TAG 1 TAG 1", "orders RUNS", "default TAG 0",
		"default COUNT 2 TAG 1", "orders COUNT 2 RUNS TAG 4", "orders COUNT 2 RUNS RUNS", "orders COUNT 2 3",
	} {
		p.fails(p.do(append([]string{"SNOWFENCE.NEXT"}, strings.Fields(wrong)...)...), "ERR")
	}
	day := []string{"SNOWFENCE.RANGE", "orders", "2025-01-02T00:00:00Z", "2025-01-03T00:00:00Z"}
	const one = "[[144120850386255872 144126512696655872]]"
	if got := p.do(append(day, "within", "tag=1")...); fmt.Sprint(got) != one {
		t.Errorf("got %v, want %s", got, one)
	}
	if got := p.do(day...).([]any); len(got) != 4 {
		t.Errorf("not a range for each tag: %v", got)
	}
	for _, wrong := range [][]string{{"WITHIN"}, {"WITHIN", "tag=4"}, {"WITHIN", "node=1"}, {"WITHIN", "x"}, {"x"}} {
		p.fails(p.do(append(day, wrong...)...), "ERR")
	}
}
