package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
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

// Whatever the IDs are, there is a page and a file, with the same pictures.
func TestReports(t *testing.T) {
	for _, c := range []struct {
		name, layout string
		ids          []snowfence.ID
		pictures     int
	}{
		{"nothing", "", nil, 0},
		{"nothing of a layout", "twitter", nil, 0},
		{"zero", "", []snowfence.ID{0}, 0},
		{"one", "", []snowfence.ID{1 << 61}, 2},
		{"one of a layout", "twitter", []snowfence.ID{2104672976770170879}, 3},
		{"foreign", "twitter", []snowfence.ID{-1, -2}, 2},
		{"random", "", random(100_000), 2},
		{"random in a layout", "discord", random(100_000), 3},
		{"no sequence", "time=62,tick=1us", random(1000), 1},
		{"ends of the layout", "sonyflake", []snowfence.ID{0, 1<<63 - 1}, 3},
		{"long ticks", "time=40,node=18,seq=5,tick=24h", random(1000), 3},
		{"many nodes", "time=15,node=44,seq=4,tick=24h", random(1000), 3},
		{"all are nodes", "time=1,node=62", random(1000), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := resultOf(t, c.layout, c.ids...)
			rows, duplicates := [][2]string{{"a<b", "c&d"}}, [][]string{{"<x>"}}
			var page, file bytes.Buffer
			err := HTML(&page, Page{Made: time.Unix(1e9, 0), Result: r, Rows: rows, Duplicates: duplicates})
			if err != nil {
				t.Fatal(err)
			}
			if err := SVG(&file, r); err != nil {
				t.Fatal(err)
			}
			text := page.String()
			if !strings.Contains(text, "a&lt;b") || strings.Contains(text, "<x>") || strings.Contains(text, "<?xml") {
				t.Error("text is not escaped")
			}
			inPage, inFile := svgs(text), svgs(file.String())
			if len(inPage) != c.pictures || strings.Join(inPage, "") != strings.Join(inFile, "") {
				t.Errorf("%d pictures in the page and %d in the file; want %d, and the same ones",
					len(inPage), len(inFile), c.pictures)
			}
			checkPicture(t, file.Bytes())
		})
	}
}

// svgs are the charts of a page or of a file.
func svgs(text string) []string {
	var list []string
	for {
		_, rest, found := strings.Cut(text, `<svg class="chart"`)
		if !found {
			return list
		}
		var one string
		one, text, _ = strings.Cut(rest, "</svg>")
		list = append(list, one)
	}
}

// checkPicture reads a file as XML. Every coordinate must be a number inside of the picture.
func checkPicture(t *testing.T, file []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(file))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range element.Attr {
			switch a.Name.Local {
			case "d":
				for _, n := range strings.FieldsFunc(a.Value,
					func(r rune) bool { return strings.ContainsRune("MHVZhv ", r) }) {
					if v, err := strconv.ParseFloat(n, 64); err != nil || !(v >= -width && v <= width) {
						t.Fatalf("%s in a path", n)
					}
				}
			case "x", "y":
				if v, err := strconv.ParseFloat(a.Value, 64); err != nil || v < 0 || v > width {
					t.Fatalf("%s=%s", a.Name.Local, a.Value)
				}
			}
		}
	}
}

// Words stand beside each other and inside of the picture, in a wide font too.
func TestLabelsHaveRoom(t *testing.T) {
	for _, c := range []struct {
		layout string
		ids    []snowfence.ID
	}{
		{"twitter", []snowfence.ID{2104672976770170879}},
		{"discord", random(1000)},
		{"sonyflake", []snowfence.ID{0, 1<<63 - 1}},
		{"time=62,tick=1us", random(1000)},
		{"time=40,node=18,seq=5,tick=24h", random(1000)},
		{"time=15,node=44,seq=4,tick=24h", random(1000)},
		{"time=20,seq=43,tick=1us", random(1000)},
	} {
		for _, p := range pictures(resultOf(t, c.layout, c.ids...)) {
			if len(p.XTicks) < 2 || len(p.YTicks) < 2 {
				t.Errorf("%s: %s: only %d and %d ticks", c.layout, p.Title, len(p.XTicks), len(p.YTicks))
			}
			end := number(0)
			for _, m := range p.XTicks {
				half := number(digit * float64(len(m.Label)) / 2)
				if m.Text-half < end || m.Text+half > width {
					t.Errorf("%s: %s: no room for %q at %v", c.layout, p.Title, m.Label, m.Text)
				}
				end = m.Text + half
			}
			for _, m := range p.YTicks {
				if room := number(digit*float64(len(m.Label)) + 8); room > p.Left {
					t.Errorf("%s: %s: no room for %q", c.layout, p.Title, m.Label)
				}
			}
			for _, text := range []string{p.About, p.Title, p.XLabel} {
				if n := len([]rune(text)); float64(n)*6.5 > width {
					t.Errorf("%s: %d letters do not fit: %s", c.layout, n, text)
				}
			}
		}
	}
}

// What was seen once in a long time has a rate that can be read.
func TestRareIDs(t *testing.T) {
	r := resultOf(t, "twitter", 0, 2104672976770170879)
	if got := overTime(r.Fields).y.label; got != "IDs per year" {
		t.Errorf("the unit is %q", got)
	}
}

func TestHeatMap(t *testing.T) {
	at := func(v float64) number { return number(v) }
	list := shades([][]int64{{1, 1, 0, 15}, {0, 0, 0, 0}}, at, at)
	if got := list[1].Cells; got != "M0 0H2V1H0Z" {
		t.Errorf("weak: %s", got)
	}
	if got := list[15].Cells; got != "M3 0H4V1H3Z" || list[15].Opacity != 1 {
		t.Errorf("strong: %s, opacity %v", got, list[15].Opacity)
	}
	for i, s := range list {
		if i != 1 && i != 15 && s.Cells != "" {
			t.Errorf("shade %d: %s", i, s.Cells)
		}
	}
}

func TestBars(t *testing.T) {
	x := func(v float64) number { return number(v) }
	y := func(v float64) number { return number(10 - v) }
	list := []bar{{0, 1, 5}, {1, 2, 0}, {3, 4, 0.01}}
	if got := outline(list, x, y); got != "M0 10V5H1V10H2V10ZM3 10V9H4V10Z" {
		t.Error(got)
	}
	bars, each := averages(make([]int64, 1025), 1024.5, 1)
	if last := bars[len(bars)-1]; each != 3 || len(bars) != 342 || last.to != 1024.5 {
		t.Errorf("%d bars of %d; the last is %v", len(bars), each, last)
	}
}
