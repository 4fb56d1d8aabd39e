package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/audit"
)

// Whatever the IDs are, there is a page, with a picture of the bits that
// are compared.
func TestHTML(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n, pictures := range map[int]int{0: 0, 1: 0, 100_000: 3} {
		a, err := audit.New(audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if err := a.Add(snowfence.ID(r.Uint64())); err != nil {
				t.Fatal(err)
			}
		}
		result, err := a.Result(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		err = HTML(&page, Page{
			Made: time.Unix(1e9, 0), Result: result, Rows: [][2]string{{"a<b", "c&d"}},
			Tables: []Table{{Title: "Nodes", Rows: [][]string{{"<x>"}}, More: 7}, {Title: "Duplicates"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		text := page.String()
		if !strings.Contains(text, "a&lt;b") || strings.Contains(text, "<x>") {
			t.Error("text is not escaped")
		}
		if !strings.Contains(text, "and 7 more") || strings.Contains(text, "Duplicates</h2>") {
			t.Errorf("tables: %s", text)
		}
		if got := strings.Count(text, `<svg class="chart"`); got != pictures {
			t.Errorf("%d IDs: %d pictures; want %d", n, got, pictures)
		}
		for _, rest := range strings.Split(text, "<svg ")[1:] {
			picture, _, _ := strings.Cut(rest, "</svg>")
			if err := xml.Unmarshal([]byte("<svg "+picture+"</svg>"), new(struct{})); err != nil {
				t.Error(err)
			}
		}
	}
}

// A chart has two to six round numbers, and room for the highest bar.
func TestHeights(t *testing.T) {
	for highest, want := range map[float64]string{
		1: "[0 1]", 4: "[0 1 2 3 4]", 12: "[0 5 10 15]", 131072: "[0 50000 100000 150000]",
	} {
		if got := fmt.Sprint(heights(highest)); got != want {
			t.Errorf("%v: %s; want %s", highest, got, want)
		}
	}
	for v := 1.0; v < 1e18; v = float64(int64(v*1.07) + 1) {
		if list := heights(v); len(list) < 2 || len(list) > 6 || list[len(list)-1] < v {
			t.Errorf("%v: %v", v, list)
		}
	}
	if got := amount(12500) + " " + amount(4096) + " " + amount(3e6); got != "12.5k 4096 3000k" {
		t.Error(got)
	}
}
