package main

import (
	"strings"
	"testing"
)

func languageFigures() figures {
	f := figures{}
	for _, row := range []string{
		"ring", "next", "fill", "py-take", "py-next", "py-iterate", "js-next", "java-next",
	} {
		for what, x := range map[string]float64{"ns": 2, "beside": 10, "times": 0.2} {
			f["languages/"+row+"/"+what] = []float64{x, x, x, x, x, x}
		}
	}
	return f
}

func TestLanguageTable(t *testing.T) {
	got, err := languageTable(languageFigures())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.200 × (≤ 0.05, **missed**)", "0.200 × (≤ 1.3, met)", "0.200 × (≤ 0.5, met)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	f := languageFigures()
	delete(f, "languages/java-next/times")
	if _, err := languageTable(f); err == nil {
		t.Error("a missing figure is accepted")
	}
}

// The part is written into a page that has it, or has not got it yet; the rest stays as it is.
func TestWithLanguages(t *testing.T) {
	const page = "# Benchmarks\n\n## Layers\n\n| a |\n\n## Versions\n\n- go\n"
	once, err := withLanguages(page, "| first |\n")
	if err != nil {
		t.Fatal(err)
	}
	twice, err := withLanguages(once, "| second |\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(once, "first", "second", 1); twice != want {
		t.Errorf("%q, want %q", twice, want)
	}
	before, rest, _ := strings.Cut(once, languagesBegin)
	_, after, _ := strings.Cut(rest, languagesEnd)
	if before+languagesEnd+after != page {
		t.Errorf("the rest of the page changed: %q", once)
	}
	if _, err := withLanguages("# Benchmarks\n", ""); err == nil {
		t.Error("a page that make bench did not write is accepted")
	}
}
