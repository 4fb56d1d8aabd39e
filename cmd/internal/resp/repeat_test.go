package resp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// Commands that are repeated are carried out together, and each in its own
// namespace: of two whose IDs differ by their layouts, every reply is of
// the one that was named, whatever comes between, and the counters agree.
func TestRepeatedCommands(t *testing.T) {
	st := store.NewMemory()
	layouts := map[string]snowfence.Layout{"a": snowfence.MustLayout("twitter"), "b": snowfence.MustLayout("sonyflake")}
	for name, l := range layouts {
		s := must(snowfence.NewScheme(l))
		must(scope.Namespaces(st).Create(t.Context(), name, s, nil))
	}
	svc := server.New(st, server.Options{Lead: 10_000})
	defer func() {
		noError(t, svc.Close(context.Background()))
	}()
	srv, addr := start(t, Config{Service: svc})
	p := dial(t, addr)
	// IDs of Twitter's layout are above since 2022, Sonyflake's below until
	// 2044
	const split = 1_600_000_000_000_000_000
	words := [][]string{
		{"SNOWFENCE.NEXT", "a"},
		{"SNOWFENCE.NEXT", "b"},
		{"snowfence.next", "a"},
		{"SNOWFENCE.NEXT", "b", "COUNT", "1"},
		{"SNOWFENCE.DECODE", "b", "1"},
		{"SNOWFENCE.NEXT", "nowhere"},
		{"PING"},
		{"RESET"},
	}
	r := rand.New(rand.NewPCG(1, 2))
	last, made, sent := map[string]snowfence.ID{}, map[string]int64{}, int64(0)
	for range 300 {
		var text strings.Builder
		var asked [][]string
		for range 1 + r.IntN(8) {
			w := words[r.IntN(len(words))]
			for range 1 + r.IntN(200)/(1+r.IntN(50)) {
				asked = append(asked, w)
				text.WriteString(encode(w...))
			}
		}
		go func() {
			_, err := p.c.Write([]byte(text.String()))
			noError(t, err)
		}()
		for _, w := range asked {
			sent++
			reply := p.reply()
			if w[0] == "PING" || w[0] == "RESET" || w[0] == "SNOWFENCE.DECODE" {
				continue
			}
			if w[1] == "nowhere" {
				p.fails(reply, "NONAMESPACE")
				continue
			}
			if list, ok := reply.([]any); ok {
				reply = list[0]
			}
			id := p.id(reply)
			if (id > split) != (w[1] == "a") || id <= last[w[1]] {
				t.Fatalf("%d for %v, after %d", id, w, last[w[1]])
			}
			last[w[1]] = id
			made[w[1]]++
		}
	}
	p.do("PING")
	for _, sp := range svc.Spaces.List() {
		if got := sp.Made.Load(); got != made[sp.Name] {
			t.Errorf("%d IDs of namespace %s are counted, and %d came", got, sp.Name, made[sp.Name])
		}
	}
	if got := srv.Requests.Load(); got < sent {
		t.Errorf("%d commands are counted, and %d were sent", got, sent)
	}
}

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
