// Package report draws what an audit found, as a page and as a picture.
// Both show the same SVG charts, in the colours of the dashboard.
package report

import (
	_ "embed"
	"io"
	"strconv"
	"time"

	"github.com/snowfence/snowfence/internal/audit"
)

//go:embed chart.css
var chartStyle string

//go:embed page.css
var pageStyle string

// Page is what a page shows beside the pictures.
type Page struct {
	Made       time.Time
	Result     *audit.Result
	Rows       [][2]string // the findings, by name
	Duplicates [][]string  // ID, how often, where, and what it says
}

// HTML writes a page that needs nothing else: no script, no font, no network.
func HTML(w io.Writer, p Page) error {
	var m markup
	m.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Audit of IDs</title>
<style>
`)
	m.WriteString(pageStyle + chartStyle)
	m.put(`</style>
</head>
<body>
<h1>Audit of IDs</h1>
<p class="soft">%s, by snowfence audit</p>
`, p.Made.UTC().Format("2006-01-02 15:04 UTC"))
	m.findings(p)
	m.put("<div class=\"pictures\">\n")
	for _, chart := range pictures(p.Result) {
		m.put("<figure>\n<h2>%s</h2>\n<figcaption>%s</figcaption>\n", chart.Title, chart.About)
		m.picture(chart)
		m.put("\n</figure>\n")
	}
	m.put("</div>\n</body>\n</html>\n")
	_, err := m.WriteTo(w)
	return err
}

// findings writes the tables of a page.
func (m *markup) findings(p Page) {
	if p.Result.Duplicates.IDs > 0 {
		m.put("<p class=\"verdict found\">There are duplicates.</p>\n")
	} else {
		m.put("<p class=\"verdict\">There are no duplicates.</p>\n")
	}
	m.put("<div class=\"scroll\" tabindex=\"0\"><table>\n")
	for _, row := range p.Rows {
		m.put("<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", row[0], row[1])
	}
	m.put("</table></div>\n")
	if len(p.Duplicates) == 0 {
		return
	}
	m.put("<h2>Duplicates</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n")
	for _, row := range p.Duplicates {
		m.put("<tr>")
		for _, cell := range row {
			m.put("<td>%s</td>", cell)
		}
		m.put("</tr>\n")
	}
	m.put("</table></div>\n")
	if more := p.Result.Duplicates.IDs - int64(len(p.Duplicates)); more > 0 {
		m.put("<p class=\"soft\">and %s more</p>\n", strconv.FormatInt(more, 10))
	}
}

// SVG writes all pictures as one file that follows the choice of light or dark.
func SVG(w io.Writer, r *audit.Result) error {
	const margin, words = 24, 50 // words: the title and what is said below it
	list := pictures(r)
	columns := min(2, max(1, len(list)))
	rows := (len(list) + columns - 1) / columns
	var m markup
	m.put(`<svg xmlns="http://www.w3.org/2000/svg" class="file" viewBox="0 0 %[1]s %[2]s" `+
		`width="%[1]s" height="%[2]s" role="img" aria-label="Audit of IDs">`+"\n<style>\n",
		number(margin+(width+margin)*float64(columns)),
		number(max(margin+(words+height+margin)*float64(rows), 3*margin)))
	m.WriteString(chartStyle)
	m.put("</style>\n<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n")
	for i, p := range list {
		m.put(`<g transform="translate(%s %s)">
<text class="title" x="2" y="16">%s</text>
<text class="about" x="2" y="36">%s</text>
<g transform="translate(0 50)">`, number(margin+(width+margin)*float64(i%columns)),
			number(margin+(words+height+margin)*float64(i/columns)), p.Title, p.About)
		m.picture(p)
		m.put("</g>\n</g>\n")
	}
	if len(list) == 0 {
		m.put("<text class=\"about\" x=\"24\" y=\"44\">There are no IDs.</text>\n")
	}
	m.put("</svg>\n")
	_, err := m.WriteTo(w)
	return err
}

func pictures(r *audit.Result) []picture {
	var list []picture
	for _, c := range charts(r) {
		list = append(list, draw(c))
	}
	return list
}
