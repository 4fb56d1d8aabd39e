package resp

import (
	"context"
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
			if err != nil {
				t.Error(err)
			}
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
