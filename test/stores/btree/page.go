package btree

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
)

// measurement is all that was measured at once.
type measurement struct {
	Rows    int
	Results []result
}

// The figures of the page, each with a picture.
var shown = []struct {
	file, title, unit string
	of                func(result) float64
}{
	{"inserts", "rows inserted in a second", "", func(r result) float64 { return r.PerSecond }},
	{"log", "bytes of the log for each row", "B", func(r result) float64 { return r.LogBytes }},
	{"day", "milliseconds for the rows of a day", "ms", func(r result) float64 { return r.Day }},
}

// write puts the table into a page, between two marks, and the pictures beside it.
func (m measurement) write(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), "<!-- measured -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	if !found || !ended {
		return fmt.Errorf("%s has no marks for the table", page)
	}
	out := before + "<!-- measured -->\n" + m.table() + "<!-- end -->" + after
	if err := os.WriteFile(page, []byte(out), 0o644); err != nil {
		return err
	}
	for _, s := range shown {
		path := filepath.Join(filepath.Dir(page), "keys-"+s.file+".svg")
		if err := os.WriteFile(path, []byte(m.picture(s.title, s.of)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// again writes the page from figures.
func again(figures, page string) error {
	text, err := os.ReadFile(figures)
	if err != nil {
		return err
	}
	var m measurement
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%s: %w", figures, err)
	}
	return m.write(page)
}

func (m measurement) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows in each table.\n\n", m.Rows)
	b.WriteString("| key | rows/s | log, B/row | index of the key, B/row | other index, B/row | " +
		"page splits, 1000 rows | leaves full, % | a day, ms | a cold read, µs | pages for it |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	last := ""
	for _, r := range m.Results {
		if r.Database != last {
			fmt.Fprintf(&b, "| **%s** |%s\n", r.Database, strings.Repeat(" |", 9))
			last = r.Database
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.1f | %.1f | %s | %s | %.0f | %.0f | %.1f |\n", r.Kind, r.PerSecond,
			r.LogBytes, r.KeyBytes, r.IndexBytes, known(r.Splits, "%.1f"), known(r.Fill, "%.0f"), r.Day, r.Read,
			r.ReadPages)
	}
	return b.String()
}

func known(x float64, format string) string {
	if x < 0 {
		return "–"
	}
	return fmt.Sprintf(format, x)
}

// picture draws bars. It has its own background, so that it can be read on any page.
func (m measurement) picture(title string, of func(result) float64) string {
	const width, left, row, top = 760, 230, 22, 56
	var b strings.Builder
	height := top + row*(len(m.Results)+3)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" role="img">
<title>%s</title>
<style>.back{fill:#fff}text{fill:#1f2933}.bar{fill:#2f6fb2}@media(prefers-color-scheme:dark){.back{fill:#14181d}text{fill:#e4e9ee}.bar{fill:#6aa8e6}}</style>
<rect class="back" width="100%%" height="100%%"/>
<text x="16" y="28" font-size="16" font-weight="bold">%s</text>
`, width, height, html.EscapeString(title), html.EscapeString(title))
	y, last, most := top, "", 0.0
	for _, r := range m.Results {
		if r.Database != last {
			if most = 0; last != "" {
				y += row / 2
			}
			for _, other := range m.Results {
				if other.Database == r.Database {
					most = max(most, of(other))
				}
			}
			fmt.Fprintf(&b, "<text x=\"16\" y=\"%d\" font-weight=\"bold\">%s</text>\n", y+14,
				html.EscapeString(r.Database))
			y, last = y+row, r.Database
		}
		length := of(r) / max(most, 1e-9) * (width - left - 90)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><rect class=\"bar\" x=\"%d\" y=\"%d\" "+
			"width=\"%.1f\" height=\"14\" rx=\"2\"/><text x=\"%.1f\" y=\"%d\">%.0f</text>\n", left-10, y+14,
			html.EscapeString(r.Kind), left, y+3, length, left+length+6, y+14, of(r))
		y += row
	}
	b.WriteString("</svg>\n")
	return b.String()
}
