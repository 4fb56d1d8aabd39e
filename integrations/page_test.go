package integrations

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var block = regexp.MustCompile("(?ms)^```(go|yaml|ts)\n(.*?)^```$")

// Every block of the pages stands in the tests, or in what they run, line after line.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/start/integrations.md")
	check(t, err)
	table, err := os.ReadFile("../docs/move/bigint.md")
	check(t, err)
	page = append(page, table...)
	var code []string
	for _, pattern := range []string{
		"*_test.go", "internal/*/*.go", "internal/*/*/*.go", "internal/*/*.yaml",
		"testdata/ent/*.go", "testdata/ent/*/*.go", "../test/clients/native/testdata/types.mts",
	} {
		paths, err := filepath.Glob(pattern)
		check(t, err)
		for _, path := range paths {
			if path == "page_test.go" {
				continue
			}
			data, err := os.ReadFile(path)
			check(t, err)
			code = append(code, unindented(string(data)))
		}
	}
	all := strings.Join(code, "\n")
	blocks := block.FindAllStringSubmatch(string(page), -1)
	for _, b := range blocks {
		text := unindented(b[2])
		if b[1] == "yaml" && strings.Contains(text, "models:") {
			continue // for gqlgen, which does not run here
		}
		if !strings.Contains(all, text) {
			t.Errorf("the tests do not have these lines:\n%s", b[2])
		}
		if n := strings.Count(text, "\n"); b[1] == "go" && n > 16 {
			t.Errorf("%d lines are too many to copy:\n%s", n, b[2])
		}
	}
	if len(blocks) < 16 {
		t.Errorf("only %d blocks", len(blocks))
	}
}

// unindented is a text without the white space around its lines.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}
