package main

import (
	"fmt"
	"strings"
	"testing"
)

// raw makes six rounds of results in which every row takes the same time, except for those given.
func raw(ns map[string]float64) string {
	var b strings.Builder
	b.WriteString("--- PASS: TestRestartRepeats (0.00s)\n    --- PASS: TestRestartRepeats/bwmarrin (0.00s)\n")
	for range 6 {
		b.WriteString("goos: linux\ncpu: Abacus\n")
		for _, w := range rows {
			if w.name == "" {
				continue
			}
			for goroutines := 1; goroutines <= 2; goroutines++ {
				x, ok := ns[fmt.Sprintf("%s/%d", w.name, goroutines)]
				if !ok {
					x = 10
				}
				fmt.Fprintf(&b, "BenchmarkID/name=%s/layout=wide/goroutines=%d-2\t 100\t %g ns/op\t 0 allocs/ID\t "+
					"%g ns/ID\n", w.name, goroutines, x, x)
			}
		}
		b.WriteString("PASS\n")
	}
	return b.String()
}

func TestTable(t *testing.T) {
	r, err := read(strings.NewReader(raw(map[string]float64{"exact/1": 13, "exact/2": 51, "coarse/1": 16.5})))
	if err != nil {
		t.Fatal(err)
	}
	if r.cpu != "Abacus" || r.rounds != 6 {
		t.Errorf("cpu %q, rounds %d", r.cpu, r.rounds)
	}
	got, err := r.table()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1.30 × time.Since (≤ 1.3, met)",
		"51.0 ns (≤ 50, **missed**)",
		"1.65 × add (≤ 1.6, **missed**)",
		"1.00 × contended add (≤ 1.4, met)",
		"yes, shown",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("table lacks %q:\n%s", want, got)
		}
	}
	if idle, err := r.idle(); err != nil || idle {
		t.Errorf("idle = %v, %v with a clock that does not scale", idle, err)
	}
	if n := strings.Count(got, "yes, shown"); n != 1 {
		t.Errorf("%d rows are said to repeat, want 1", n)
	}
}

// Whatever is wrong with the results is an error, and never a table with something missing.
func TestReadRefuses(t *testing.T) {
	whole := raw(nil)
	for name, input := range map[string]string{
		"nothing":        "",
		"a failure":      whole + "--- FAIL: BenchmarkID/name=add\n",
		"a lost line":    strings.Replace(whole, "BenchmarkID/name=add", "", 1),
		"another name":   whole + "BenchmarkOther-2\t 1\t 1 ns/op\n",
		"a broken line":  whole + "BenchmarkID/name=add/layout=wide/goroutines=1-2\t x\n",
		"an unknown row": whole + strings.ReplaceAll(whole, "name=add/", "name=new/"),
		"a missing row":  strings.ReplaceAll(whole, "name=since/", "name=add/"),
	} {
		r, err := read(strings.NewReader(input))
		if err == nil {
			_, err = r.table()
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestIdle(t *testing.T) {
	r, err := read(strings.NewReader(raw(map[string]float64{"since/2": 5.1})))
	if err != nil {
		t.Fatal(err)
	}
	if idle, err := r.idle(); err != nil || !idle {
		t.Errorf("idle = %v, %v with a clock that scales", idle, err)
	}
}
