package main

import (
	"fmt"
	"strings"
	"testing"
)

// served makes figures in which everything is 10, but for those given.
func served(changed map[string]float64) string {
	var names []string
	for _, row := range []string{"single/pinned", "single/free", "numbers/pinned", "numbers/free"} {
		for _, depth := range []int{1, 16, 64} {
			names = append(names, fmt.Sprintf("%s/P=%d/times", row, depth),
				fmt.Sprintf("%s/P=%d/cpu-times", row, depth))
			for _, side := range []string{"snowfence", "redis"} {
				for _, what := range []string{"rate", "cpu-ns", "client"} {
					names = append(names, fmt.Sprintf("%s/P=%d/%s/%s", row, depth, side, what))
				}
			}
		}
	}
	for _, row := range []string{"one", "thousand"} {
		for _, side := range []string{"snowfence", "bare"} {
			names = append(names, "http/"+row+"/"+side+"/rate", "http/"+row+"/"+side+"/cpu-ns")
		}
	}
	for _, row := range []string{
		"resp-1000", "resp-100000", "connect-1000", "grpc-1000", "grpc-100000", "resp-runs",
		"grpc-runs",
	} {
		for _, what := range []string{"rate", "client", "server"} {
			names = append(names, "batch/"+row+"/"+what)
		}
	}
	var b strings.Builder
	for range 6 {
		for _, name := range names {
			x, ok := changed[name]
			if !ok {
				x = 10
			}
			fmt.Fprintf(&b, "%s %g\n", name, x)
		}
	}
	return b.String()
}

func serverTable(text string) (string, error) {
	f, err := readFigures(strings.NewReader(text))
	if err != nil {
		return "", err
	}
	return serverTables(f)
}

func TestServerTables(t *testing.T) {
	got, err := serverTable(served(map[string]float64{
		"single/pinned/P=1/times":           1.1,
		"single/pinned/P=16/times":          1,
		"single/pinned/P=64/times":          2.1,
		"single/pinned/P=64/snowfence/rate": 21e6,
		"single/pinned/P=64/cpu-times":      0.4,
		"numbers/pinned/P=1/times":          0.9,
		"numbers/pinned/P=16/times":         0.99,
		"numbers/pinned/P=64/times":         1.5,
		"http/one/snowfence/rate":           7.9,
		"batch/resp-runs/rate":              1.5e9,
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1.10 × (≥ 1.1, met)", "1.00 × (≥ 1.1, **missed**)", "2.10 × (≥ 2, met) [2.10, 2.10]",
		"0.900 × (≥ 0.9, met)", "0.990 × (≥ 1, **missed**)", "1.50 × (≥ 1.5, met)", "0.400 × (≤ 0.5, met)", "0.790 × (≥ 0.8, **missed**)", "21.0 M",
		"1.50 G | 1000 % | 1000 % | ≥ 1 G, met", "≥ 1 G, **missed**",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the tables lack %q:\n%s", want, got)
		}
	}
}

// Whatever is wrong with the figures is an error, and never a table with something missing.
func TestServerTablesRefuse(t *testing.T) {
	whole := served(nil)
	for name, text := range map[string]string{
		"nothing":         "",
		"a broken line":   whole + "batch/resp-runs/rate x\n",
		"no number":       whole + "batch/resp-runs/rate\n",
		"a missing row":   strings.ReplaceAll(whole, "batch/grpc-runs/rate", "batch/resp-runs/rate"),
		"an unknown name": whole + "batch/other/rate 1\n",
	} {
		if _, err := serverTable(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
