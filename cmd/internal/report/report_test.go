package report

import (
	"bytes"
	"image/png"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/audit"
)

func resultOf(t *testing.T, layout string, ids ...snowfence.ID) *audit.Result {
	t.Helper()
	var o audit.Options
	if layout != "" {
		l, err := snowfence.ParseLayout(layout)
		if err != nil {
			t.Fatal(err)
		}
		if o.Scheme, err = snowfence.NewScheme(l); err != nil {
			t.Fatal(err)
		}
	}
	a, err := audit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Add(ids...); err != nil {
		t.Fatal(err)
	}
	r, err := a.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func random(n int) []snowfence.ID {
	r := rand.New(rand.NewPCG(1, 1))
	ids := make([]snowfence.ID, n)
	for i := range ids {
		ids[i] = snowfence.ID(r.Uint64())
	}
	return ids
}

// Whatever the IDs are, there is a page and a picture.
func TestReports(t *testing.T) {
	colour := regexp.MustCompile(`(fill|stroke):#[0-9a-fA-F]+`)
	for _, c := range []struct {
		name, layout string
		ids          []snowfence.ID
		pictures     int
	}{
		{"nothing", "", nil, 0},
		{"nothing of a layout", "twitter", nil, 0},
		{"zero", "", []snowfence.ID{0}, 0},
		{"one", "", []snowfence.ID{1 << 61}, 2},
		{"one of a layout", "twitter", []snowfence.ID{2104672976770170879}, 5},
		{"foreign", "twitter", []snowfence.ID{-1, -2}, 2},
		{"random", "", random(100_000), 2},
		{"random in a layout", "discord", random(100_000), 5},
		{"no sequence", "time=62,tick=1us", random(1000), 3},
		{"ends of the layout", "sonyflake", []snowfence.ID{0, 1<<63 - 1}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := resultOf(t, c.layout, c.ids...)
			var page bytes.Buffer
			if err := HTML(&page, Page{Made: time.Unix(1e9, 0), Result: r, Rows: [][2]string{{"a<b", "c&d"}}, Duplicates: [][]string{{"<x>"}}}); err != nil {
				t.Fatal(err)
			}
			text := page.String()
			if n := strings.Count(text, "<svg "); n != c.pictures || n != strings.Count(text, "</svg>") {
				t.Errorf("%d pictures; want %d", n, c.pictures)
			}
			if !strings.Contains(text, "a&lt;b") || strings.Contains(text, "<x>") || strings.Contains(text, "<?xml") {
				t.Error("text is not escaped, or a picture not unwrapped")
			}
			if found := colour.FindString(text); found != "" {
				t.Errorf("a colour that does not follow the page: %s", found)
			}
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Error("a picture has a number that is none")
			}
			var img bytes.Buffer
			if err := PNG(&img, r); err != nil {
				t.Fatal(err)
			}
			if _, err := png.Decode(&img); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAmount(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 4095: "4095", 9999: "9999", 12500: "12.5k", 3e6: "3M", 1.5e9: "1.5G", 2e15: "2P", 0.25: "0.25"} {
		if got := amount(v); got != want {
			t.Errorf("%v: %s; want %s", v, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 7, "0 2 4 6"}, {-0.5, 63.5, "0 20 40 60"}, {3, 4, "3 4"}, {0, 1e6, "0 200000 400000 600000 800000 1000000"},
	} {
		var labels []string
		for _, tick := range (wholeTicks{}).Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v to %v: %s; want %s", c.low, c.high, got, c.want)
		}
	}
	noon := float64(time.Date(2026, 9, 28, 12, 0, 0, 0, time.UTC).Unix())
	for _, c := range []struct {
		length float64
		first  string
	}{
		{0.003, "12:00:00.000"}, {4, "12:00:00"}, {3600, "12:00"}, {3 * 86400, "09-28 12:00"}, {300 * 86400, ""}, {50 * 365 * 86400, ""},
	} {
		ticks := timeTicks{}.Ticks(noon, noon+c.length)
		if len(ticks) < 2 || len(ticks) > 7 {
			t.Errorf("%v seconds: %d ticks", c.length, len(ticks))
		} else if c.length < 4*86400 && ticks[0].Label != c.first {
			t.Errorf("%v seconds: first tick %s; want %s", c.length, ticks[0].Label, c.first)
		}
	}
	if ticks := (timeTicks{}).Ticks(0, math.MaxFloat64); len(ticks) > 10 {
		t.Errorf("%d ticks for an endless axis", len(ticks))
	}
}
