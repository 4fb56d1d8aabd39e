package main

import (
	"fmt"
	"strconv"
)

// A row of the table. Rows without a name are headings.
type row struct {
	name   string // in the benchmark's name
	title  string
	module string // whose version is told; empty for the standard library and ourselves
}

var rows = []row{
	{title: "**bare limits**"},
	{name: "add", title: "atomic add"},
	{name: "cas", title: "load and compare-and-swap"},
	{name: "mutex", title: "mutex around an increment"},
	{name: "now", title: "time.Now"},
	{name: "since", title: "time.Since"},
	{name: "loop", title: "loop that stores 1024 uint64"},
	{name: "unrolled", title: "the same loop unrolled"},
	{title: "**Snowfence**"},
	{name: "exact", title: "Next, exact time"},
	{name: "coarse", title: "Next, coarse time"},
	{name: "local", title: "handle (Local), coarse time"},
	{name: "exactlocal", title: "handle (Local), exact time"},
	{name: "fill", title: "Fill of 1024"},
	{name: "randexact", title: "encrypted (Randflake), exact time"},
	{name: "randcoarse", title: "encrypted, coarse time"},
	{name: "randfill", title: "encrypted, Fill of 1024"},
	{title: "**64-bit, time and node**"},
	{name: "bwmarrin", title: "bwmarrin/snowflake", module: "github.com/bwmarrin/snowflake"},
	{name: "sonyflake1", title: "sony/sonyflake", module: "github.com/sony/sonyflake"},
	{name: "sonyflake2", title: "sony/sonyflake/v2", module: "github.com/sony/sonyflake/v2"},
	{name: "yitter", title: "yitter/idgenerator-go", module: "github.com/yitter/idgenerator-go"},
	{name: "randflake", title: "gosuda.org/randflake", module: "gosuda.org/randflake"},
	{name: "idutil", title: "etcd pkg/v3/idutil", module: "go.etcd.io/etcd/pkg/v3"},
	{name: "wuid", title: "edwingeng/wuid", module: "github.com/edwingeng/wuid"},
	{title: "**64-bit, random**"},
	{name: "rand", title: "math/rand/v2 Uint64"},
	{title: "**96 to 160 bits**"},
	{name: "xid", title: "rs/xid", module: "github.com/rs/xid"},
	{name: "ulid", title: "oklog/ulid/v2", module: "github.com/oklog/ulid/v2"},
	{name: "uuid4", title: "google/uuid v4", module: "github.com/google/uuid"},
	{name: "uuid7", title: "google/uuid v7", module: "github.com/google/uuid"},
	{name: "ksuid", title: "segmentio/ksuid", module: "github.com/segmentio/ksuid"},
}

// A target is the highest price of an ID: a multiple of another row, or nanoseconds
// where there is none.
type target struct {
	limit      float64
	of         string // name of the row that limit multiplies, empty for nanoseconds
	ofTitle    string
	goroutines int // of that row
}

// targets of our own rows, with one goroutine and with two. They are ratios within one
// run, so that they say the same on a slower machine. Two handles share nothing, so that
// two cores make twice as many IDs; since no measurement is exact, 5 % is granted there.
var targets = map[string][2]*target{
	"exact": {
		{limit: 1.3, of: "since", ofTitle: "time.Since", goroutines: 1},
		{limit: 50},
	},
	"coarse": {
		{limit: 1.6, of: "add", ofTitle: "add", goroutines: 1},
		{limit: 1.4, of: "add", ofTitle: "contended add", goroutines: 2},
	},
	"local": {
		{limit: 0.45, of: "add", ofTitle: "add", goroutines: 1},
		{limit: 0.525, of: "local", ofTitle: "one handle", goroutines: 1},
	},
	"fill": {
		{limit: 0.9, of: "loop", ofTitle: "loop", goroutines: 1},
		nil,
	},
	// Of the encrypted ones in nanoseconds, with AVX-512; other CPUs have others.
	"randexact":  {{limit: 42}, nil},
	"randcoarse": {{limit: 20}, nil},
	"randfill":   {{limit: 1.5}, nil},
}

// idTable is the table of IDs: our own, other libraries', and the bare limits.
func idTable(s *sheet) {
	s.writeRow("ns an ID, wall time",
		"default, 1 goroutine", "default, 2", "widest, 1 goroutine", "widest, 2", "allocs",
		"with 1: against (target)", "with 2: against (target)", "repeats after a restart")
	s.writeRow("---", "--:", "--:", "--:", "--:", "--:", "---", "---", "---")
	for _, row := range rows {
		if row.name == "" {
			s.writeRow(row.title, "", "", "", "", "", "", "", "")
			continue
		}
		cells, allocs := []string{row.title}, 0.0
		for _, layout := range []string{"default", "wide"} {
			for goroutines := 1; goroutines <= 2; goroutines++ {
				name := fmt.Sprintf("id/%s/%s/%d", row.name, layout, goroutines)
				other := layout == "wide" && cells[1] == "–" // one of the two has to be there
				if !other && !s.has(name+"/ns") {
					cells = append(cells, "–")
					continue
				}
				x := s.summary(name + "/ns")
				cells = append(cells, figure(x.Center)+" ± "+x.PctRangeString())
				allocs = max(allocs, s.median("%s/allocs", name))
			}
		}
		cells = append(cells, strconv.FormatFloat(allocs, 'f', 0, 64))
		for i, t := range targets[row.name] {
			cells = append(cells, s.compareTarget(row.name, i+1, t))
		}
		repeats, name := "", "repeats/"+row.name
		if s.has(name) {
			s.median("%s", name)
			repeats = "yes, shown"
		}
		s.writeRow(append(cells, repeats)...)
	}
}

// widestMedian is the median of a row in its widest layout, in nanoseconds.
func (s *sheet) widestMedian(name string, goroutines int) float64 {
	return s.median("id/%s/wide/%d/ns", name, goroutines)
}

// compareTarget says how a row does against its target.
func (s *sheet) compareTarget(name string, goroutines int, t *target) string {
	if t == nil {
		return ""
	}
	got, what := s.widestMedian(name, goroutines), "ns"
	if t.of != "" {
		got /= s.widestMedian(t.of, t.goroutines)
		what = "× " + t.ofTitle
	}
	limit := strconv.FormatFloat(t.limit, 'f', -1, 64)
	return fmt.Sprintf("%s %s (≤ %s, %s)", figure(got), what, limit, verdict(got <= t.limit))
}

// idle reports whether the machine had two cores to spare: reading the clock shares
// nothing, so that two goroutines take half as long for it. Where something else was
// running the figures with two goroutines are too high, and vary.
func idle(f figures) bool {
	s := &sheet{figures: f, shown: map[string]bool{}}
	return s.summary("id/since/wide/2/ns").Hi < 0.6*s.widestMedian("since", 1)
}
