package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// A key names what was measured: the parts of a benchmark's name.
type key struct {
	name       string
	wide       bool
	goroutines int
}

// results are the samples of all rounds.
type results struct {
	cpu     string
	rounds  int
	ns      map[key][]float64
	allocs  map[key][]float64
	repeats map[string]bool // by name: a restart was shown to repeat IDs
}

// passed matches what go test -v says of a restart test.
var passed = regexp.MustCompile(`^\s*--- PASS: TestRestartRepeats/(\S+)`)

func read(r io.Reader) (*results, error) {
	res := &results{ns: map[key][]float64{}, allocs: map[key][]float64{}, repeats: map[string]bool{}}

	// The lines of go test -v are not of the benchmark format, and its reader would call
	// some of them errors.
	var bench bytes.Buffer
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if m := passed.FindStringSubmatch(line); m != nil {
			res.repeats[m[1]] = true
		}
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(strings.TrimSpace(line), "--- FAIL") {
			return nil, fmt.Errorf("a benchmark failed: %s", line)
		}
		if strings.HasPrefix(line, "Benchmark") || strings.HasPrefix(line, "cpu:") {
			bench.WriteString(line + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}

	in := benchfmt.NewReader(&bench, "results")
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, rec
		case *benchfmt.Result:
			if err := res.add(rec); err != nil {
				return nil, err
			}
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return res, res.check()
}

func (r *results) add(rec *benchfmt.Result) error {
	r.cpu = rec.GetConfig("cpu")
	var k key
	_, parts := rec.Name.Parts()
	for _, part := range parts {
		name, value, ok := strings.Cut(strings.TrimPrefix(string(part), "/"), "=")
		switch {
		case ok && name == "name":
			k.name = value
		case ok && name == "layout":
			k.wide = value == "wide"
		case ok && name == "goroutines":
			n, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("%s: %w", rec.Name, err)
			}
			k.goroutines = n
		}
	}
	ns, ok1 := original(rec, "ns/ID")
	allocs, ok2 := original(rec, "allocs/ID")
	if k.name == "" || k.goroutines == 0 || !ok1 || !ok2 {
		return fmt.Errorf("no such benchmark is known: %s", rec.Name)
	}
	r.ns[k] = append(r.ns[k], ns)
	r.allocs[k] = append(r.allocs[k], allocs)
	return nil
}

// original finds a value in the unit in which it was written: benchfmt makes seconds of
// nanoseconds.
func original(rec *benchfmt.Result, unit string) (float64, bool) {
	for _, v := range rec.Values {
		if v.Unit == unit {
			return v.Value, true
		}
		if v.OrigUnit == unit {
			return v.OrigValue, true
		}
	}
	return 0, false
}

// check makes sure that nothing was measured less often than the rest.
func (r *results) check() error {
	for k, samples := range r.ns {
		if r.rounds == 0 {
			r.rounds = len(samples)
		}
		if len(samples) != r.rounds {
			return fmt.Errorf("%v was measured %d times, others %d times", k, len(samples), r.rounds)
		}
	}
	if r.rounds == 0 {
		return fmt.Errorf("no results")
	}
	return nil
}

// summary is what benchstat prints: the median and its 95 % confidence interval.
func summary(samples []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(samples, &benchmath.DefaultThresholds), 0.95)
}

// median of the nanoseconds that an ID takes.
func (r *results) median(k key) (float64, error) {
	if len(r.ns[k]) == 0 {
		return 0, fmt.Errorf("%v was not measured", k)
	}
	return summary(r.ns[k]).Center, nil
}
