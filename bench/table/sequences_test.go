package main

import (
	"fmt"
	"strings"
	"testing"
)

// sequenceFigures makes figures in which everything is 1, but for those given.
func sequenceFigures(changed map[string]float64) figures {
	f := figures{}
	note := func(name string, args ...any) {
		name = fmt.Sprintf(name, args...)
		x, ok := changed[name]
		if !ok {
			x = 1
		}
		for range 6 {
			f[name] = append(f[name], x)
		}
	}
	for _, name := range []string{"next", "any", "local"} {
		for goroutines := 1; goroutines <= 2; goroutines++ {
			for _, what := range []string{"ns", "add", "times", "allocs"} {
				note("sequence/%s-%d/%s", name, goroutines, what)
			}
		}
	}
	note("sequence/waits")
	for _, name := range []string{
		"strict/one", "strict/many", "sequencetx/postgres", "sequencetx/mariadb", "sequencetx/sqlite",
	} {
		for _, what := range []string{"rate", "hand", "times"} {
			note("%s/%s", name, what)
		}
	}
	return f
}

func TestSequenceTables(t *testing.T) {
	got, err := sequenceTables(sequenceFigures(map[string]float64{
		"sequence/next-2/times": 1.4, "sequence/local-1/times": 0.25, "strict/one/times": 2.5, "strict/many/rate": 4200,
		"sequence/waits": 0,
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1.00 × (≤ 1.5, met)", "1.40 × (≤ 1.3, **missed**)", "0.250 × (≤ 0.5, met)", "2.50 × (≥ 2, met)", "4.20 k",
		"| 0 (0, met) |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	f := sequenceFigures(nil)
	f["sequence/more"] = []float64{1}
	if _, err := sequenceTables(f); err == nil {
		t.Error("a figure without a row is accepted")
	}
	f = sequenceFigures(nil)
	delete(f, "strict/one/times")
	if _, err := sequenceTables(f); err == nil {
		t.Error("a missing figure is accepted")
	}
}
