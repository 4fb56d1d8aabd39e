package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// report writes the news in a stream of events, and counts the tests that
// were skipped.
type report struct {
	w        io.Writer
	open     map[string]map[string]*strings.Builder // output of unfinished tests; "" is the package
	skips    int
	short    bool                // -short may leave tests to make full
	later    int                 // so many
	failures map[string][]string // failed tests of a package
	lines    []string            // a line for each failed package
}

func newReport(w io.Writer) *report {
	return &report{w: w, open: map[string]map[string]*strings.Builder{}, failures: map[string][]string{}}
}

// readEvents handles a stream of events to its end.
func (r *report) readEvents(in io.Reader) error {
	b := bufio.NewReader(in)
	for {
		line, err := b.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(r.w, "%s", line) // the go command itself speaks plain text
			} else {
				r.handleEvent(e)
			}
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
	tests := r.open[e.Package]
	if tests == nil {
		tests = map[string]*strings.Builder{}
		r.open[e.Package] = tests
	}
	if tests[e.Test] == nil {
		tests[e.Test] = &strings.Builder{} // += would copy all of a long output each time
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.w, e.Output)
	case "start", "run", "output":
		tests[e.Test].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.writePackage(e)
			return
		}
		out := tests[e.Test].String()
		delete(tests, e.Test)
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

// writePackage writes the line of a package, and if it failed, also the
// output of its unfinished tests.
func (r *report) writePackage(e event) {
	tests := r.open[e.Package]
	delete(r.open, e.Package)
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.w, "ok\t%s\t%.3fs\n", e.Package, e.Elapsed)
	case "fail":
		line := fmt.Sprintf("FAIL\t%s\t%.3fs", e.Package, e.Elapsed)
		for said := range strings.Lines(tests[""].String()) {
			if why, ok := strings.CutPrefix(said, "FAIL\t"+e.Package); !ok {
				fmt.Fprint(r.w, said)
			} else if why = strings.TrimSpace(why); strings.HasPrefix(why, "[") { // not a time: the build failed
				line += "\t" + why
			}
		}
		if broken := r.failures[e.Package]; len(broken) > 0 {
			line += "\t" + strings.Join(broken, ", ")
		}
		r.writeFailure(line, tests)
	}
}

// writeFailure writes the output of unfinished tests, and then the line of
// their package.
func (r *report) writeFailure(line string, tests map[string]*strings.Builder) {
	delete(tests, "")
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		fmt.Fprint(r.w, tests[name].String())
		line += "\t" + name + " did not end"
	}
	fmt.Fprintln(r.w, line)
	r.lines = append(r.lines, line)
}

// writeEnd names the packages that had not ended, and once more those that
// failed.
func (r *report) writeEnd() {
	for _, pkg := range slices.Sorted(maps.Keys(r.open)) {
		r.writeFailure("FAIL\t"+pkg+"\tstopped", r.open[pkg])
	}
	if len(r.lines) > 0 {
		fmt.Fprintf(r.w, "strict: %d package(s) failed:\n%s\n", len(r.lines), strings.Join(r.lines, "\n"))
	}
}

// leftOut reports whether a test was skipped because the user asked for
// that; see package servers.
func leftOut(out string) bool {
	return os.Getenv("SNOWFENCE_LEAVE_OUT") != "" && strings.Contains(out, "left out as asked by SNOWFENCE_LEAVE_OUT")
}
