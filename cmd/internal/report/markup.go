package report

import (
	"bytes"
	"fmt"
	"html"
)

// markup is a page or a picture as it grows. html/template would do, but makes the linker keep
// every exported method of the program.
type markup struct{ bytes.Buffer }

// put writes a format with its values as text: none of them can become an element, or leave the
// quotes of an attribute.
func (m *markup) put(format string, values ...any) {
	for i, v := range values {
		values[i] = html.EscapeString(fmt.Sprint(v))
	}
	fmt.Fprintf(&m.Buffer, format, values...)
}

// picture writes a chart as SVG.
func (m *markup) picture(p picture) {
	m.put(`<svg class="chart" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" role="img" `+
		`aria-label="%[3]s. %[4]s">
<text x="2" y="16">%[5]s</text>
`, p.Width, p.Height, p.Title, p.About, p.YLabel)
	for _, t := range p.YTicks {
		m.put(`<path class="grid" d="M%[1]s %[2]sH%[3]s"/>`+
			`<text class="end" x="%[1]s" dx="-8" y="%[4]s">%[5]s</text>`+"\n",
			p.Left, t.At, p.Right, t.Text, t.Label)
	}
	if p.Bars != "" {
		m.put("<path class=\"data bars\" d=\"%s\"/>\n", p.Bars)
	}
	for _, s := range p.Shades {
		if s.Cells != "" {
			m.put("<path class=\"data cells\" fill-opacity=\"%s\" d=\"%s\"/>\n", s.Opacity, s.Cells)
		}
	}
	if p.Even > 0 {
		m.put(`<path class="even" d="M%[1]s %[2]sH%[3]s"/>
<path class="even" d="M%[3]s 12h-28"/><text class="end" x="%[3]s" dx="-34" y="16">even</text>
`, p.Left, p.Even, p.Right)
	}
	m.legend(p)
	m.put("<path class=\"base\" d=\"M%s %sH%s\"/>\n", p.Left, p.Bottom, p.Right)
	for _, t := range p.XTicks {
		m.put(`<path class="base" d="M%[1]s %[2]sv5"/>`+
			`<text class="middle" x="%[3]s" y="%[2]s" dy="19">%[4]s</text>`+"\n",
			t.At, p.Bottom, t.Text, t.Label)
	}
	m.put("<text class=\"middle\" x=\"%s\" y=\"%s\" dy=\"39\">%s</text>\n</svg>", p.Middle, p.Bottom, p.XLabel)
}

// legend says what the shades of a heat map stand for.
func (m *markup) legend(p picture) {
	if p.Most == "" {
		return
	}
	m.put(`<g transform="translate(%s 5)">`, p.Key)
	for _, s := range p.Shades {
		m.put(`<rect class="data cells" fill-opacity="%s" x="%s" width="6" height="13"/>`, s.Opacity, s.Key)
	}
	m.put("</g>\n"+`<text class="end" x="%s" dx="-8" y="16">0</text><text class="end" x="%s" y="16">%s</text>`+"\n",
		p.Key, p.Right, p.Most)
}
