package plans

import (
	"fmt"
	"sort"
	"strings"

	"github.com/snowfence/snowfence/internal/audit"
)

// places knows where each ID stands, by its position among all. IDs on
// consecutive lines need one entry together.
type places struct {
	files []placedFile
	n     int64
	runs  int
}

type placedFile struct {
	name  string
	start int64 // position of its first ID
	runs  []placedRun
}

type placedRun struct{ position, line int64 }

// maxRuns bounds the memory for files in which each ID stands apart.
// Beyond, IDs are numbered within their file.
const maxRuns = 1 << 20

func (p *places) open(name string) {
	p.files = append(p.files, placedFile{name: name, start: p.n})
}

func (p *places) add(b *audit.Batch) {
	f := &p.files[len(p.files)-1]
	for _, run := range b.Lines {
		at, line, n := p.n+int64(run.Index), run.Line, len(f.runs)
		if n > 0 && (f.runs[n-1].line == 0 || line-f.runs[n-1].line == at-f.runs[n-1].position) {
			continue
		}
		if p.runs >= maxRuns {
			line = 0 // the only one of each further file
		}
		f.runs = append(f.runs, placedRun{at, line})
		p.runs++
	}
	p.n += int64(len(b.IDs))
}

// fill names the places of the findings.
func (p *places) fill(r *audit.Result) {
	for i := range r.Duplicates.List {
		d := &r.Duplicates.List[i]
		for _, at := range d.Positions {
			d.Places = append(d.Places, p.name(at))
		}
	}
	for i := range r.Order.List {
		s := &r.Order.List[i]
		s.Place = p.name(s.Position)
	}
}

// name says where the ID of a position stands.
func (p *places) name(position int64) string {
	i := sort.Search(len(p.files), func(i int) bool { return p.files[i].start > position }) - 1
	f := p.files[i]
	j := sort.Search(len(f.runs), func(j int) bool { return f.runs[j].position > position }) - 1
	if f.runs[j].line == 0 {
		return fmt.Sprintf("%s, ID %d", f.name, position-f.start+1)
	}
	return fmt.Sprintf("%s:%d", f.name, f.runs[j].line+position-f.runs[j].position)
}

// placesText lists the places of something that came several times, for
// people.
func placesText(places []string, count int64) string {
	text := strings.Join(places, ", ")
	if count > int64(len(places)) {
		text += ", …"
	}
	return text
}
