package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

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
