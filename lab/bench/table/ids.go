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
	{name: "since", title: "time.Since"},
	{name: "loop", title: "loop that stores 1024 uint64"},
	{title: "**Snowfence**"},
	{name: "exact", title: "Next, exact time"},
	{name: "coarse", title: "Next, coarse time"},
	{name: "local", title: "handle (Local), coarse time"},
	{name: "exactlocal", title: "handle (Local), exact time"},
	{name: "fill", title: "Fill of 1024"},
	{name: "randexact", title: "encrypted (Randflake), exact time"},
	{name: "randcoarse", title: "encrypted, coarse time"},
	{name: "randfill", title: "encrypted, Fill of 1024"},
	{title: "**others**"},
	{name: "bwmarrin", title: "bwmarrin/snowflake", module: "github.com/bwmarrin/snowflake"},
	{name: "sonyflake1", title: "sony/sonyflake", module: "github.com/sony/sonyflake"},
	{name: "sonyflake2", title: "sony/sonyflake/v2", module: "github.com/sony/sonyflake/v2"},
	{name: "yitter", title: "yitter/idgenerator-go", module: "github.com/yitter/idgenerator-go"},
	{name: "randflake", title: "gosuda.org/randflake", module: "gosuda.org/randflake"},
	{name: "idutil", title: "etcd pkg/v3/idutil", module: "go.etcd.io/etcd/pkg/v3"},
	{name: "uuid7", title: "google/uuid v7", module: "github.com/google/uuid"},
}

// A target is the highest price of an ID: a multiple of another row, or
// nanoseconds where there is none.
type target struct {
	limit       float64
	of, ofTitle string // the row that limit multiplies, empty for nanoseconds
}

// targets of our own rows, with one goroutine. They are ratios within one
// run, so that they say the same on a slower machine.
var targets = map[string]target{
	"exact":  {limit: 1.3, of: "since", ofTitle: "time.Since"},
	"coarse": {limit: 1.6, of: "add", ofTitle: "add"},
	"local":  {limit: 0.45, of: "add", ofTitle: "add"},
	"fill":   {limit: 0.9, of: "loop", ofTitle: "loop"},
	// The encrypted ones are nanoseconds with AVX-512. Other CPUs have
	// other targets.
	"randexact":  {limit: 42},
	"randcoarse": {limit: 20},
	"randfill":   {limit: 1.5},
}

// idTable is the table of IDs: our own, other libraries', and the bare
// limits.
func idTable(s *sheet) {
	s.writeRow("ns an ID, wall time", "1 goroutine", "2", "with 1: against (target)", "repeats after a restart")
	s.writeRow("---", "--:", "--:", "---", "---")
	for _, row := range rows {
		if row.name == "" {
			s.writeRow(row.title, "", "", "", "")
			continue
		}
		cells := []string{row.title}
		for goroutines := 1; goroutines <= 2; goroutines++ {
			x := s.summary(fmt.Sprintf("id/%s/%d", row.name, goroutines))
			cells = append(cells, figure(x.Center)+" ±"+x.PctRangeString())
		}
		repeats, name := "", "repeats/"+row.name
		if s.has(name) {
			s.median("%s", name)
			repeats = "yes, shown"
		}
		s.writeRow(append(cells, s.compareTarget(row.name), repeats)...)
	}
}

// compareTarget says how a row does against its target.
func (s *sheet) compareTarget(name string) string {
	t, ok := targets[name]
	if !ok {
		return ""
	}
	got, what := s.median("id/%s/1", name), "ns"
	if t.of != "" {
		got /= s.median("id/%s/1", t.of)
		what = "× " + t.ofTitle
	}
	limit := strconv.FormatFloat(t.limit, 'f', -1, 64)
	return fmt.Sprintf("%s %s (≤ %s%s)", figure(got), what, limit, verdict(got <= t.limit))
}

// idle reports whether the machine had two cores to spare. Reading the
// clock shares nothing, so two goroutines take half as long for it. If
// other programs ran, the figures with two goroutines are too high, and
// vary.
func idle(f figures) bool {
	s := &sheet{figures: f, shown: map[string]bool{}}
	return s.summary("id/since/2").Hi < 0.6*s.median("id/since/1")
}
