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

// writeInto puts the table into a page, between two marks.
func (m measurement) writeInto(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), "<!-- measured -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	if !found || !ended {
		return fmt.Errorf("%s has no marks for the table", page)
	}
	out := before + "<!-- measured -->\n" + m.tableText() + "<!-- end -->" + after
	return os.WriteFile(page, []byte(out), 0o644)
}

func (m measurement) tableText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows in each table.\n\n", m.Rows)
	b.WriteString("| key | log, B/row | index of the key, B/row | other index, B/row | leaves full, % | a day, ms |\n" +
		"|---|--:|--:|--:|--:|--:|\n")
	last := ""
	for _, r := range m.Results {
		if r.Database != last {
			fmt.Fprintf(&b, "| **%s** |%s\n", r.Database, strings.Repeat(" |", 5))
			last = r.Database
		}
		fill := "–"
		if r.Fill >= 0 {
			fill = fmt.Sprintf("%.0f", r.Fill)
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.1f | %.1f | %s | %.0f |\n",
			r.Kind, r.LogBytes, r.KeyBytes, r.IndexBytes, fill, r.Day)
	}
	return b.String()
}
