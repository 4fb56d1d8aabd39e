// Package model searches lease.pml and sublet.pml, the rules of leases and
// of subleases in Promela, with spin: completely, and once more for each
// rule with that rule broken.
package model

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

var (
	long  = flag.Bool("long", false, "search all models, which takes many minutes")
	table = flag.String("table", "", "file for the results, as a table")
)

// search is one model: what is switched on in a file, and what that adds up
// to.
type search struct {
	file  string
	name  string // as in the table of mutants
	defs  []string
	about string
	long  bool // too long for each run of the tests
}

var searches = []search{
	{"lease.pml", "base", []string{"-DN=2"}, "2 holders: renewals, give-backs, crashes, lost replies, a late write, changes of layout, an operator", false},
	{"lease.pml", "base", []string{"-DN=3", "-DLATE=2"}, "the same, 3 holders, two late writes at a time", true},
	{"lease.pml", "base", []string{"-DN=4"}, "the same, 4 holders, one", true},
	{"lease.pml", "plain", []string{"-DN=2", "-DLATE=0", "-DPLAIN"}, "2 holders, no late write, without the third idea", true},
	{"lease.pml", "ticks", []string{"-DN=1", "-DTICKS=5"}, "1 holder, and 5 ticks as numbers", false},
	{"lease.pml", "ticks", []string{"-DN=3", "-DTICKS=5", "-DSTILL"}, "3 holders, 5 ticks as numbers, no change of layout", true},
	{"lease.pml", "calm", []string{"-DN=2", "-DLATE=0", "-DCALM=12"}, "2 holders, then faults end: each, if alone, gets a grant within 12 accesses to the store", false},
	{"lease.pml", "restored", []string{"-DN=2", "-DLATE=0", "-DCHANGES=0", "-DSETBACK=1"}, "2 holders, and a store that is rolled back to a backup, with another identity", true},
	{"lease.pml", "restored", []string{"-DN=3", "-DLATE=0", "-DCHANGES=0", "-DSETBACK=1"}, "the same, 3 holders", true},
	{"lease.pml", "silent", []string{"-DN=2", "-DLATE=0", "-DCHANGES=0", "-DSETBACK=2"}, "2 holders, and a store that is rolled back with the same identity", true},
	{"lease.pml", "vanished", []string{"-DN=2", "-DLATE=0", "-DCHANGES=0", "-DSETBACK=3"}, "2 holders, and a record that vanishes", true},
	{"sublet.pml", "sublet", []string{"-DNODES=1"}, "2 lessors divide a node, one after the other, among 2 holders: renewals, give-backs, lapses, crashes, lost replies, lies", false},
	{"sublet.pml", "sublets", []string{"-DNODES=2"}, "the same, a unit of 2 nodes", true},
}

// mutants reads the tables of rules: number, model, rule.
func mutants(t *testing.T) (all [][]string) {
	t.Helper()
	for file, least := range map[string]int{"lease.pml": 20, "sublet.pml": 10} {
		b := must(os.ReadFile(file))
		rules := regexp.MustCompile(`(?m)^#mutant (\d+) (\w+) (.+)$`).FindAllStringSubmatch(string(b), -1)
		if len(rules) < least {
			t.Fatalf("%s has a table of %d rules", file, len(rules))
		}
		all = append(all, rules...)
	}
	return all
}

// build makes the program that searches a model; options are further ones
// of the compiler. To optimize a short search takes ten times as long as
// the search.
func (s search) build(t *testing.T, options ...string) string {
	t.Helper()
	for _, program := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v: make test installs it", err)
		}
	}
	source := must(filepath.Abs(s.file))
	dir, optimize := t.TempDir(), "-O0"
	if s.long {
		optimize = "-O1"
	}
	for _, args := range [][]string{
		append(append([]string{"spin", "-a"}, s.defs...), source),
		// NOREDUCE: there is one process
		append([]string{"gcc", optimize, "-w", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=8000", "-o", "pan", "pan.c"},
			options...),
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return filepath.Join(dir, "pan")
}

// result is what a search found.
type result struct {
	errors, states, depth int
	mb, seconds           float64
}

// complete is a depth that no search reaches.
const complete = 3_000_000

// run searches to a depth, with a broken rule or 0 for none.
func run(t *testing.T, pan string, mutant, depth int) result {
	t.Helper()
	cmd := exec.Command(pan, "-m"+strconv.Itoa(depth), "-w24")
	cmd.Dir = t.TempDir() // trails go there
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(mutant))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	number := func(pattern string) float64 {
		m := regexp.MustCompile(pattern).FindSubmatch(out)
		if m == nil {
			t.Fatalf("no %s in what the search said:\n%s", pattern, out)
		}
		return must(strconv.ParseFloat(string(m[1]), 64))
	}
	r := result{
		errors: int(number(`errors: (\d+)`)), depth: int(number(`depth reached (\d+)`)), states: int(number(`([0-9.e+]+) states, stored`)),
		mb: number(`([0-9.]+)\s+total actual memory usage`), seconds: number(`elapsed time ([0-9.e-]+) seconds`),
	}
	for _, cut := range []string{
		"search depth too small", "out of memory", "Search not completed",
		"max search depth",
	} {
		if r.errors == 0 && depth == complete && strings.Contains(string(out), cut) {
			t.Fatalf("the search is not complete:\n%s", out)
		}
	}
	return r
}

// noticed reports whether breaking a rule leads to an error. Most do within
// few steps, which a search that may not go deep finds soonest.
func noticed(t *testing.T, pan string, mutant int) bool {
	t.Helper()
	for _, depth := range []int{1000, 3000, complete} {
		if run(t, pan, mutant, depth).errors > 0 {
			return true
		}
	}
	return false
}

// TestModels searches every model completely, and then with each of its
// rules broken, which it has to notice.
func TestModels(t *testing.T) {
	rules := mutants(t)
	var rows strings.Builder
	rows.WriteString("| model | states | depth | MB | s | rules broken and noticed |\n|---|--:|--:|--:|--:|--:|\n")
	first := map[string]bool{}
	for _, s := range searches {
		if s.long && !*long {
			continue
		}
		pan := s.build(t)
		r := run(t, pan, 0, complete)
		if r.errors != 0 {
			t.Errorf("%s: %d errors", s.about, r.errors)
		}
		if r.states < 1000 {
			t.Errorf("%s: %d states are no search", s.about, r.states)
		}
		caught := 0
		for _, m := range rules {
			if m[2] != s.name || first[s.name] {
				continue
			}
			n := must(strconv.Atoi(m[1]))
			if testing.Short() && !*long && n%8 != 0 {
				continue // every eighth rule is enough for each run of the tests
			}
			if !noticed(t, pan, n) {
				t.Errorf("%s: nothing happens when this rule is broken: %s", s.about, m[3])
				continue
			}
			caught++
		}
		first[s.name] = true
		row := fmt.Sprintf("| %s | %d | %d | %.0f | %.1f | %d |\n", s.about, r.states, r.depth, r.mb, r.seconds, caught)
		t.Log(row)
		rows.WriteString(row)
	}
	if *table != "" {
		tests.NoError(t, os.WriteFile(*table, []byte(rows.String()), 0o644))
	}
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }
