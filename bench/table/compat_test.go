package main

import (
	"strings"
	"testing"
)

func TestCompatTable(t *testing.T) {
	f := figures{}
	for _, row := range []string{
		"bwmarrin/default", "bwmarrin/wide", "sonyflake1/default", "sonyflake2/default", "sonyflake2/wide",
		"yitter/default", "yitter/10-bits", "yitter/wide",
		"randflake/default", "randflake/source", "randflake/fence",
	} {
		for _, what := range []string{"ns", "next", "original", "times-next", "times-original"} {
			f["compat/"+row+"/"+what] = []float64{1, 1, 1, 1, 1, 1}
		}
	}
	f["compat/bwmarrin/wide/times-next"] = []float64{1.2, 1.2, 1.2, 1.2, 1.2, 1.2}
	got, err := compatTable(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1.20 × (≤ 1.15, **missed**)", "1.00 × (≤ 1.15, met)", "1.00 × (≤ 1.01, met)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	f["compat/more"] = []float64{1}
	if _, err := compatTable(f); err == nil {
		t.Error("a figure without a row is accepted")
	}
}
