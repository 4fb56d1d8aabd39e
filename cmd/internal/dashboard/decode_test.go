package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
)

// An ID is known again from each of its forms, without being told which one it is.
func TestParseReadsAllForms(t *testing.T) {
	for _, id := range []snowfence.ID{0, 1, 2083727055179621056, -5, 1<<63 - 1, -1 << 63} {
		for _, e := range snowfence.Encodings() {
			for _, text := range []string{e.Encode(id), " " + e.Encode(id) + "\n", e.Fixed().Encode(id)} {
				list, err := parse(text)
				if err != nil || !slices.ContainsFunc(list, func(p parsed) bool { return p.id == id }) {
					t.Errorf("%s of %d is %q, read as %v, %v", e.Name(), id, text, list, err)
				}
			}
		}
	}
	for text, want := range map[string]snowfence.ID{
		"0xFF": 255, "18446744073709551615": -1, `"42"`: 42, "ord_3vgoe12ccb8gh": 0, "2,083,727": 2083727,
	} {
		list, err := parse(text)
		if err != nil || want != 0 && list[0].id != want {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
	for _, bad := range []string{"", "  ", "!", strings.Repeat("1", 300), "99999999999999999999999"} {
		if list, err := parse(bad); err == nil {
			t.Errorf("%q is %v", bad, list)
		}
	}
}

func TestDecode(t *testing.T) {
	b := newBench(t)
	b.namespace(t, "orders", "twitter")
	type answer struct{ Readings []reading }
	for _, body := range []string{
		`{"text":"2083727055179621056","namespace":"orders"}`, `{"text":"2083727055179621056","layout":"twitter"}`, `{"text":"2083727055179621056"}`,
		`{"text":"` + snowfence.Base58.Encode(2083727055179621056) + `","namespace":"orders"}`,
	} {
		resp, text := b.ask(t, "POST", "/dashboard/api/decode", "", body)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", body, resp.Status, text)
		}
		list := decodeJSON[answer](t, text).Readings
		i := slices.IndexFunc(list, func(r reading) bool {
			return r.ID == "2083727055179621056" && (r.Name == "twitter" || r.Name == "orders")
		})
		if i < 0 {
			t.Fatalf("%s: %s", body, text)
		}
		r := list[i]
		want := []bitField{{"time", 41, "496799243731"}, {"datacenter", 5, "13"}, {"worker", 5, "2"}, {
			"sequence",
			12, "704",
		}}
		if !slices.Equal(r.Fields, want) || r.Time.Format("2006-01-02T15:04:05.000") != "2026-08-02T01:30:18.388" {
			t.Errorf("%s: %+v", body, r)
		}
	}
	for body, want := range map[string]int{
		`{"text":"?"}`: 400, `{"text":"1","layout":"x=1"}`: 400, `{"text":"1","namespace":"none"}`: 404, `{"text":"1","layout":"randflake"}`: 400,
	} {
		if resp, text := b.ask(t, "POST", "/dashboard/api/decode", "", body); resp.StatusCode != want {
			t.Errorf("%s: %s %s", body, resp.Status, text)
		}
	}
}
