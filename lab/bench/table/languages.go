package main

import (
	"fmt"
	"os"
	"strings"
)

// languageTable is the table of the C library, and of the languages over it.
func languageTable(s *sheet) {
	s.line("ns an ID", "of the C library", "beside", "ns", "against it (target)")
	s.line("---", "--:", "---", "--:", "---")
	const bare, uuid4 = "a call of Go from C that does nothing", "`uuid.uuid4()`"
	for _, row := range []struct {
		name, title, beside string
		limit               float64 // 0: there is none
	}{
		{"ring", "C, `snowfence_ring_next`", bare, 0.05},
		{"fill", "C, `snowfence_fill` of 1024", "`Fill` of 1024 in Go", 1.3},
		{"next", "C, `snowfence_next`", bare, 0},
		{"py-take", "Python, batches of 4096", uuid4, 0.2},
		{"py-next", "Python, `next`", uuid4, 0},
		{"py-iterate", "Python, `for`", uuid4, 0},
		{"js-next", "Node.js, `next`", "`crypto.randomUUID()`", 1},
		{"java-next", "Java, `next`", "a synchronized Snowflake class of 30 lines", 0.5},
	} {
		at := func(what string) float64 { return s.median("languages/%s/%s", row.name, what) }
		cell := figure(at("times")) + " ×"
		if row.limit != 0 {
			cell = against(at("times"), false, row.limit)
		}
		cell += s.spread("languages/%s/times", row.name)
		s.line(row.title, figure(at("ns")), row.beside, figure(at("beside")), cell)
	}
}

const (
	languagesBegin = "## Languages\n"
	languagesEnd   = "## Versions\n"
)

// withLanguages returns the page in a file, which has the other parts already, with this table.
func withLanguages(path, table string) (string, error) {
	page, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	before, rest, ok := strings.Cut(string(page), languagesEnd)
	if !ok {
		return "", fmt.Errorf("%s has no part %q: run make bench for the whole page", path, languagesEnd)
	}
	before, _, _ = strings.Cut(before, languagesBegin)
	part, err := languagesPart(table)
	return before + part + "\n" + languagesEnd + rest, err
}

func languagesPart(table string) (string, error) {
	var part strings.Builder
	err := languagesText.Execute(&part, table)
	return part.String(), err
}
