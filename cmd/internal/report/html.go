package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/snowfence/snowfence/internal/audit"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Page is what a page shows beside the pictures.
type Page struct {
	Made       time.Time
	Result     *audit.Result
	Rows       [][2]string // the findings, by name
	Duplicates [][]string  // ID, how often, where, and what it says
}

//go:embed page.html
var pageText string

// picture is a chart inside a page.
type picture struct {
	Title, About string
	SVG          template.HTML
}

// HTML writes a page that needs nothing else: no script, no font, no network.
func HTML(w io.Writer, p Page) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	var list []picture
	for _, c := range charts(p.Result) {
		svg, err := inline(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
		list = append(list, picture{c.title, c.about, template.HTML(svg)})
	}
	return t.Execute(w, map[string]any{
		"Made":       p.Made.UTC().Format("2006-01-02 15:04 UTC"),
		"Rows":       p.Rows,
		"Duplicates": p.Duplicates,
		"More":       p.Result.Duplicates.IDs - int64(len(p.Duplicates)),
		"Found":      p.Result.Duplicates.IDs > 0,
		"Pictures":   list,
	})
}

// inline is a chart as an SVG element that takes its colours, its font and its width from the page.
func inline(c chart) (string, error) {
	canvas := vgsvg.New(chartWidth, chartHeight)
	c.plot.Draw(draw.New(canvas))
	var buf bytes.Buffer
	if _, err := canvas.WriteTo(&buf); err != nil {
		return "", err
	}
	text := buf.String()
	start := strings.Index(text, "<svg")
	end := strings.IndexByte(text[max(start, 0):], '>')
	if start < 0 || end < 0 {
		return "", fmt.Errorf("the drawing has no svg element")
	}
	text = text[start+end+1:]
	text = strings.NewReplacer(
		hex(ink()), "var(--ink)",
		hex(rule()), "var(--rule)",
		hex(accent()), "var(--accent)",
		hex(marker()), "var(--marker)",
	).Replace(text)
	// Shades are rounded on their way through the drawing, so that they are found by having an opacity.
	text = regexp.MustCompile(`fill:#[0-9A-F]{6};fill-opacity`).ReplaceAllString(text, "fill:var(--accent);fill-opacity")
	text = regexp.MustCompile(`font-family:[^;]*;font-variant:[^;]*;`).ReplaceAllString(text, "")
	head := fmt.Sprintf(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`,
		chartWidth.Points(), chartHeight.Points(), template.HTMLEscapeString(c.title+". "+c.about))
	return head + text, nil
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }
