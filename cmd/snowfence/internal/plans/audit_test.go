package plans

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/audit"
)

func TestPlaces(t *testing.T) {
	var p places
	p.open("a")
	p.add(&audit.Batch{IDs: batch(3), Lines: []audit.LineRun{{Index: 0, Line: 1}, {Index: 2, Line: 5}}})
	p.add(&audit.Batch{IDs: batch(2), Lines: []audit.LineRun{{Index: 0, Line: 6}}})
	p.runs = maxRuns
	p.open("b")
	apart := []audit.LineRun{{Index: 0, Line: 1}, {Index: 1, Line: 3}}
	p.add(&audit.Batch{IDs: batch(2), Lines: apart})
	p.open("c")
	p.add(&audit.Batch{IDs: batch(2), Lines: apart})
	for at, want := range []string{
		"a:1", "a:2", "a:5", "a:6", "a:7", "b, ID 1", "b, ID 2", "c, ID 1", "c, ID 2",
	} {
		if got := p.name(int64(at)); got != want {
			t.Errorf("position %d: %s; want %s", at, got, want)
		}
	}
}

func batch(n int) []snowfence.ID { return make([]snowfence.ID, n) }

// A picture has the lowest values first, and fills the line of the most.
func TestPicture(t *testing.T) {
	counts := make([]int64, 256)
	counts[0], counts[4], counts[255] = 8, 4, 7
	if got, want := picture(counts), "█▄"+strings.Repeat("▁", 61)+"▇"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
