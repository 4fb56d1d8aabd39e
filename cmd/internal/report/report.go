// Package report writes the findings of an audit as a page.
package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"io"
	"time"

	"github.com/snowfence/snowfence/internal/audit"
)

//go:embed page.css
var style string

// Page is the content of a page.
type Page struct {
	Made   time.Time
	Result *audit.Result
	Rows   [][2]string // the findings, by name
	Tables []Table
}

// Table is a list of findings.
type Table struct {
	Title string
	Rows  [][]string
	More  int64 // how many rows are left out
}

// HTML writes a page that needs nothing else: no script, no font, no
// network.
func HTML(w io.Writer, p Page) error {
	var m markup
	m.putValues(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Audit of IDs</title>
<style>
`)
	m.WriteString(style)
	m.putValues(`</style>
</head>
<body>
<h1>Audit of IDs</h1>
<p class="soft">%s, by snowfence audit</p>
`, p.Made.UTC().Format("2006-01-02 15:04 UTC"))
	if p.Result.Duplicates.IDs > 0 {
		m.putValues("<p class=\"verdict found\">There are duplicates.</p>\n")
	} else {
		m.putValues("<p class=\"verdict\">There are no duplicates.</p>\n")
	}
	m.putValues("<div class=\"scroll\" tabindex=\"0\"><table>\n")
	for _, row := range p.Rows {
		m.putValues("<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", row[0], row[1])
	}
	m.putValues("</table></div>\n")
	for _, t := range p.Tables {
		m.writeTable(t)
	}
	for _, e := range p.Result.Evenness {
		m.putValues("<figure>\n<h2>The %s eight bits</h2>\n"+
			"<figcaption>How many IDs have each value.</figcaption>\n", e.Bits)
		m.writeChart(e)
		m.putValues("\n</figure>\n")
	}
	m.putValues("</body>\n</html>\n")
	_, err := m.WriteTo(w)
	return err
}

// markup is a page as it grows. html/template would do, but makes the
// linker keep every exported method of the program.
type markup struct{ bytes.Buffer }

// putValues writes a format with its values as text: none of them can
// become an element, or leave the quotes of an attribute.
func (m *markup) putValues(format string, values ...any) {
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = html.EscapeString(text)
		}
	}
	fmt.Fprintf(&m.Buffer, format, values...)
}

// writeTable writes a table, if it has rows.
func (m *markup) writeTable(t Table) {
	if len(t.Rows) == 0 {
		return
	}
	m.putValues("<h2>%s</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n", t.Title)
	for _, row := range t.Rows {
		m.putValues("<tr>")
		for _, cell := range row {
			m.putValues("<td>%s</td>", cell)
		}
		m.putValues("</tr>\n")
	}
	m.putValues("</table></div>\n")
	if t.More > 0 {
		m.putValues("<p class=\"soft\">and %d more</p>\n", t.More)
	}
}
