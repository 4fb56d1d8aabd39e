// Package report draws what an audit found, as a page and as a picture.
// Both show the same SVG charts, in the colours of the dashboard.
package report

import (
	"embed"
	"html/template"
	"io"
	"time"

	"github.com/snowfence/snowfence/internal/audit"
)

//go:embed templates
var templates embed.FS

// Page is what a page shows beside the pictures.
type Page struct {
	Made       time.Time
	Result     *audit.Result
	Rows       [][2]string // the findings, by name
	Duplicates [][]string  // ID, how often, where, and what it says
}

// HTML writes a page that needs nothing else: no script, no font, no network.
func HTML(w io.Writer, p Page) error {
	return write(w, "page.html", map[string]any{
		"Made":       p.Made.UTC().Format("2006-01-02 15:04 UTC"),
		"Rows":       p.Rows,
		"Duplicates": p.Duplicates,
		"More":       p.Result.Duplicates.IDs - int64(len(p.Duplicates)),
		"Found":      p.Result.Duplicates.IDs > 0,
		"Pictures":   pictures(p.Result),
	})
}

// panel is a picture with its place in a file of several.
type panel struct {
	picture
	X, Y number
}

// SVG writes all pictures as one file that follows the choice of light or dark.
func SVG(w io.Writer, r *audit.Result) error {
	const margin, words = 24, 50 // words: the title and what is said below it
	list := pictures(r)
	columns := min(2, max(1, len(list)))
	rows := (len(list) + columns - 1) / columns
	var panels []panel
	for i, p := range list {
		panels = append(panels, panel{
			picture: p,
			X:       number(margin + (width+margin)*float64(i%columns)),
			Y:       number(margin + (words+height+margin)*float64(i/columns)),
		})
	}
	return write(w, "file.svg", map[string]any{
		"Width":  number(margin + (width+margin)*float64(columns)),
		"Height": number(max(margin+(words+height+margin)*float64(rows), 3*margin)),
		"Panels": panels,
	})
}

func pictures(r *audit.Result) []picture {
	var list []picture
	for _, c := range charts(r) {
		list = append(list, draw(c))
	}
	return list
}

func write(w io.Writer, name string, data any) error {
	t, err := template.ParseFS(templates, "templates/*")
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, name, data)
}
