package insql

import (
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

func planOf(t *testing.T, spec string) Plan {
	t.Helper()
	l := tests.Must(snowfence.ParseLayout(spec))
	return Plan{Layout: l, From: 1, Lead: DefaultLead(l), MaxWait: 5 * time.Second}
}

// TestPlansThatAreRefused checks that a layout which a database cannot
// count in is refused, with the reason.
func TestPlansThatAreRefused(t *testing.T) {
	for why, p := range map[string]Plan{
		"encrypted":                      planOf(t, "randflake"),
		"rollback bits":                  planOf(t, "time=41,rollback=2,node=8,seq=12"),
		"scatter stands above the time":  planOf(t, "scatter=2,time=41,node=8,seq=12"),
		"tag stands above the time":      planOf(t, "tag=2,time=41,node=8,seq=12"),
		"no whole number of micro":       planOf(t, "time=41,node=10,seq=12,tick=1500ns"),
		"has the nodes 0 to 1023":        {Layout: snowfence.Default(), Node: 1024, From: 1},
		"is in the future":               {Layout: snowfence.Default(), From: -1},
		"ran out":                        {Layout: snowfence.Default(), From: 1<<41 - 1},
		"take a power of two":            {Layout: snowfence.Default(), From: 1, Lanes: 48},
		"take 1024":                      {Layout: snowfence.Default(), From: 1, Lanes: 2048},
		"a lead of -1":                   {Layout: snowfence.Default(), From: 1, Lead: -1},
		"name it with its column":        {Layout: snowfence.Default(), From: 1, Table: "orders"},
		"a name is empty":                {Layout: snowfence.Default(), From: 1, Table: "orders."},
		"no '$', '\\' or control":        {Layout: snowfence.Default(), From: 1, Schema: "a$snowfence$b"},
		"at most 63 bytes":               {Layout: snowfence.Default(), From: 1, Schema: strings.Repeat("a", 64)},
		"positions would not fit in 63 ": {Layout: planOf(t, "time=42,seq=22").Layout, From: 1, Lanes: 1},
	} {
		if text, err := Postgres(p); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, %d bytes", why, err, len(text))
		}
	}
}

// TestLanesOfALayout checks that lanes are slices of the usable numbers, at
// most a quarter of them.
func TestLanesOfALayout(t *testing.T) {
	for spec, want := range map[string][3]int64{ // lanes, slots, first
		"twitter":                        {64, 64, 0},
		"sonyflake":                      {64, 4, 0},
		"time=41,node=16,seq=6":          {16, 4, 0},
		"time=41,node=16,seq=6,first=5":  {8, 7, 5},
		"time=41,node=20,seq=1":          {1, 2, 0},
		"time=41,node=20":                {1, 1, 0},
		"time=39,seq=10,node=10,last=99": {16, 6, 0},
	} {
		n, err := planOf(t, spec).workOut()
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if got := [3]int64{int64(n.Lanes), n.Per, n.First}; got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}

// TestCommentsStayComments checks that a label with a new line does not
// become SQL.
func TestCommentsStayComments(t *testing.T) {
	p := planOf(t, "twitter")
	p.About = []string{"label\nDROP TABLE orders; --", "\u2028DROP TABLE orders;"}
	text := tests.Must(Postgres(p))
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "DROP TABLE") {
			t.Errorf("a comment became %q", line)
		}
	}
}

// TestEveryNameHasAValue checks that no text keeps a {{NAME}}, whatever a
// plan has.
func TestEveryNameHasAValue(t *testing.T) {
	for _, spec := range []string{"twitter", "time=42,node=10,seq=12", "time=40,node=20", "time=40,tag=3,node=20"} {
		for _, table := range []string{"", "orders.id"} {
			p := planOf(t, spec)
			p.Table = table
			for dialect, print := range map[string]func(Plan) (string, error){
				"PostgreSQL": Postgres, "MariaDB": MariaDB, "MySQL": MySQL,
			} {
				if text, err := print(p); err != nil || strings.Contains(text, "{{") {
					t.Errorf("%s, %s, table %q: %v\n%s", dialect, spec, table, err, text)
				}
			}
		}
	}
}

// TestValuesStayAsTheyAre checks that a name which looks like a place in
// the text is not filled.
func TestValuesStayAsTheyAre(t *testing.T) {
	p := planOf(t, "twitter")
	p.Schema, p.About = "{{Node}}", []string{"{{Spec}}"}
	text, err := Postgres(p)
	if err != nil || !strings.Contains(text, `"{{Node}}".snowfence_next()`) ||
		!strings.HasPrefix(text, "-- {{Spec}}\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
