package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/show"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// The page learns of the sequences that its token sees: what was given
// last, exactly, how fast, and what is left; and that one is gone.
func TestStreamTellsOfSequences(t *testing.T) {
	b := newBench(t, server.Token{
		Name: "t", SHA256: hash("secret"), Verbs: []server.Verb{server.VerbRead}, Namespaces: []string{"seen*"},
	})
	for name, m := range map[string]*pb.SequenceCreateRequest{
		"seen-large": {Start: new(int64(9_223_372_036_854_775_000)), Mode: "strict"},
		"seen-dated": {Pattern: "RE-{year}-{n:4}"},
		"seen-back":  {Start: new(int64(-1)), Step: new(int64(-1)), Max: new(int64(-1000))},
		"hidden":     {},
	} {
		m.Name = name
		must(b.service.Management.CreateSequence(t.Context(), m))
	}
	everybody := server.Open().Anyone()
	take := func(name string, n int64) {
		t.Helper()
		caller := &server.Caller{Identity: everybody}
		must(b.service.Sequences.Take(t.Context(), caller, name, 0, n, 0))
	}
	seen := map[string]sequenceState{}
	deleted := false
	b.follow(t, "/dashboard/api/stream", "secret", func(kind, data string) bool {
		if kind != "sample" {
			return false
		}
		v := decodeJSON[sample](t, data)
		for _, s := range v.Sequences {
			seen[s.Name] = s
		}
		for _, name := range v.GoneSequences {
			delete(seen, name)
		}
		if _, ok := seen["hidden"]; ok {
			t.Error("the page was told of a sequence that its token does not see")
			return true
		}
		large, back := seen["seen-large"], seen["seen-back"]
		switch {
		case len(seen) == 3 && large.Last == "":
			take("seen-large", 5)
			take("seen-back", 500)
		case large.Last == "9223372036854775004" && back.Last == "-500" && !deleted:
			if large.Left != "803" || !large.Own || large.Rate <= 0 || large.Held != 0 || large.Ends <= 0 {
				t.Errorf("large: %+v", large)
			}
			if back.Used < 0.5 || back.Used > 1 || back.Held <= 0 || back.Reserve <= 0 {
				t.Errorf("back: %+v", back)
			}
			dated := seen["seen-dated"]
			if dated.Left != "9999" || dated.Period < 2026 || dated.Pattern != "RE-{year}-{n:4}" || dated.Used != 0 {
				t.Errorf("dated: %+v", dated)
			}
			if _, err := b.service.Management.DeleteSequence(t.Context(), &pb.SequenceDeleteRequest{
				Name: "seen-back", Confirm: "seen-back",
			}); err != nil {
				t.Error(err)
				return true
			}
			deleted = true
			b.d.sampler.readStore(t.Context()) // which it does every few seconds
		}
		return deleted && len(seen) == 2 || t.Failed()
	})
}

// The highest number that anybody may have is told where this server gave
// none, with its date where it has one.
func TestLastOfSequencesOfOthers(t *testing.T) {
	for what, c := range map[string]struct {
		info *pb.Sequence
		want sequenceState
	}{
		"none given": {
			&pb.Sequence{Start: 1, Step: 1, Max: 100, Left: 100},
			sequenceState{Left: "100"},
		},
		"half given": {
			&pb.Sequence{Start: 1, Step: 2, Max: 200, Left: 50, LastNumber: "99"},
			sequenceState{Left: "50", Used: 0.5, Last: "99"},
		},
		"all of the widest": {
			&pb.Sequence{Start: -9_223_372_036_854_775_808, Step: 4, Max: 9_223_372_036_854_775_807, LastNumber: "x"},
			sequenceState{Left: "0", Used: 1, Last: "x"},
		},
	} {
		if got := sequenceOf(c.info, nil); got != c.want {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
	}
}

// The page gets what "snowfence decode" says, of namespaces, of layouts
// that have names, and of a guess.
func TestDecode(t *testing.T) {
	b := newBench(t)
	b.namespace(t, "orders", "twitter")
	for _, body := range []string{
		`{"text":"2083727055179621056","namespace":"orders"}`, `{"text":"2083727055179621056","layout":"twitter"}`,
		`{"text":"'2083727055179621056' "}`, `{"text":"0x1ceae2b774da22c0"}`,
		`{"text":"` + snowfence.Base58.Encode(2083727055179621056) + `","namespace":"orders"}`,
	} {
		resp, text := b.ask(t, "POST", "/dashboard/api/decode", "", body)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", body, resp.Status, text)
		}
		cards := decodeJSON[[]show.Card](t, text)
		if len(cards) != 1 || cards[0].Title != "2083727055179621056" || len(cards[0].Groups) != 5 ||
			!slices.Contains(cards[0].Rows, [2]string{"datacenter", "13"}) ||
			!strings.HasPrefix(cards[0].Rows[0][1], "2026-08-02T01:30:18.388Z") {
			t.Errorf("%s: %s", body, text)
		}
	}
	for body, want := range map[string]int{
		`{"text":"?"}`: 400, `{"text":"1","layout":"x=1"}`: 400, `{"text":"1","namespace":"none"}`: 404, `{"text":"1","layout":"randflake"}`: 400,
		`{`: 400, `{"other":1}`: 400, `{"text":"` + strings.Repeat("x", 20000) + `"}`: 413,
	} {
		if resp, text := b.ask(t, "POST", "/dashboard/api/decode", "", body); resp.StatusCode != want {
			t.Errorf("%s: %s %s", body, resp.Status, text)
		}
	}
}
