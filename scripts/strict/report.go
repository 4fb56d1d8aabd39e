package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Time    time.Time
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// test is a test that has not ended; the one without a name is its package.
type test struct {
	began   time.Time
	nth     int // in the order of their beginnings
	waiting bool
	out     strings.Builder
}

// report writes the news in a stream of events, and counts the tests that
// were skipped.
type report struct {
	mu       sync.Mutex
	w        io.Writer
	open     map[string]map[string]*test // by package and name
	begun    int
	skips    int
	short    bool                // -short may leave tests to make full
	later    int                 // so many
	failures map[string][]string // failed tests of a package
	lines    []string            // a line for each package
}

func newReport(w io.Writer) *report {
	return &report{w: w, open: map[string]map[string]*test{}, failures: map[string][]string{}}
}

// readEvents handles a stream of events to its end.
func (r *report) readEvents(in io.Reader) error {
	b := bufio.NewReader(in)
	for {
		line, err := b.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			r.mu.Lock()
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(r.w, "%s", line) // the go command itself speaks plain text
			} else {
				r.handleEvent(e)
			}
			r.mu.Unlock()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) handleEvent(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.w, e.Output)
	case "start", "run", "output":
		r.testOf(e).out.WriteString(e.Output)
	case "pause":
		r.testOf(e).waiting = true
	case "cont":
		r.testOf(e).waiting = false
	case "pass", "fail", "skip":
		out := r.testOf(e).out.String()
		if e.Test == "" {
			r.writePackage(e, out)
			return
		}
		delete(r.open[e.Package], e.Test)
		if e.Action == "fail" {
			r.failures[e.Package] = append(r.failures[e.Package], e.Test)
		}
		if e.Action == "skip" && r.short && strings.Contains(out, "left to make full") {
			r.later++
			return
		}
		if e.Action != "pass" {
			fmt.Fprint(r.w, out)
		}
		if e.Action == "skip" && !leftOut(out) {
			r.skips++
		}
	}
}

// testOf returns the record of an event's test.
func (r *report) testOf(e event) *test {
	tests := r.open[e.Package]
	if tests == nil {
		tests = map[string]*test{}
		r.open[e.Package] = tests
	}
	t := tests[e.Test]
	if t == nil {
		r.begun++
		t = &test{began: e.Time, nth: r.begun}
		tests[e.Test] = t
	}
	return t
}

// writePackage writes the line of a package, and if it failed, also the
// output of its unfinished tests.
func (r *report) writePackage(e event, out string) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.w, "ok\t%s\t%.3fs\n", e.Package, e.Elapsed)
	case "fail":
		line := fmt.Sprintf("FAIL\t%s\t%.3fs", e.Package, e.Elapsed)
		for said := range strings.Lines(out) {
			if why, ok := strings.CutPrefix(said, "FAIL\t"+e.Package); !ok {
				fmt.Fprint(r.w, said)
			} else if why = strings.TrimSpace(why); strings.HasPrefix(why, "[") { // not a time: the build failed
				line += "\t" + why
			}
		}
		if broken := r.failures[e.Package]; len(broken) > 0 {
			line += "\t" + strings.Join(broken, ", ")
		}
		if which := r.runningTests(e.Package, e.Time); which != "" {
			line += "\tstopped (" + r.writeUnfinished(e.Package) + ") in " + which
		}
		fmt.Fprintln(r.w, line)
		r.lines = append(r.lines, line)
	}
	delete(r.open, e.Package)
}

// writeUnfinished writes the output of a package's unfinished tests, and
// returns the reason if they name one.
func (r *report) writeUnfinished(pkg string) string {
	why := "it gave no reason"
	for _, name := range r.unendedTests(pkg) {
		out := r.open[pkg][name].out.String()
		fmt.Fprint(r.w, out)
		for line := range strings.Lines(out) {
			for _, says := range []string{"panic: ", "fatal error: ", "signal: ", "exit status "} {
				if strings.HasPrefix(line, says) {
					why = strings.TrimSpace(line)
				}
			}
		}
	}
	return why
}

// unendedTests returns the tests of a package that have not ended, in the
// order in which they began.
func (r *report) unendedTests(pkg string) []string {
	tests := r.open[pkg]
	names := slices.DeleteFunc(slices.Collect(maps.Keys(tests)), func(name string) bool { return name == "" })
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(tests[a].nth, tests[b].nth) })
	return names
}

// runningTests names the tests of a package that were under way: of a test
// with subtests only those.
func (r *report) runningTests(pkg string, now time.Time) string {
	var which []string
	names := r.unendedTests(pkg)
	for _, name := range names {
		inner := func(other string) bool { return strings.HasPrefix(other, name+"/") }
		if t := r.open[pkg][name]; !t.waiting && !slices.ContainsFunc(names, inner) {
			which = append(which, fmt.Sprintf("%s (after %v)", name, now.Sub(t.began).Round(time.Second/10)))
		}
	}
	return strings.Join(which, ", ")
}

// writeInterrupted names the running tests when the run is stopped.
func (r *report) writeInterrupted(why string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeStopped(why, now)
}

// writeEnd names the unfinished tests when the go command ended, and once
// more the failed packages.
func (r *report) writeEnd(now time.Time) {
	r.writeStopped("the go command ended", now)
	if len(r.lines) > 0 {
		fmt.Fprintf(r.w, "strict: %d package(s) failed:\n%s\n", len(r.lines), strings.Join(r.lines, "\n"))
	}
}

func (r *report) writeStopped(why string, now time.Time) {
	for _, pkg := range slices.Sorted(maps.Keys(r.open)) {
		which := r.runningTests(pkg, now)
		r.writeUnfinished(pkg)
		line := fmt.Sprintf("FAIL\t%s\tstopped (%s) in %s", pkg, why, cmp.Or(which, "no test"))
		fmt.Fprintln(r.w, line)
		r.lines = append(r.lines, line)
	}
}

// leftOut reports whether a test was skipped because the user asked for
// that; see package servers.
func leftOut(out string) bool {
	return os.Getenv("SNOWFENCE_LEAVE_OUT") != "" && strings.Contains(out, "left out as asked by SNOWFENCE_LEAVE_OUT")
}
