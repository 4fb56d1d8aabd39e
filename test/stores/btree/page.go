package btree

import (
	"fmt"
	"os"
	"strings"
)

// measurement is all that was measured at once.
type measurement struct {
	Rows    int
	Results []result
}

// write puts the table into a page, between two marks.
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
	return os.WriteFile(page, []byte(out), 0o644)
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
