package integrations

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var block = regexp.MustCompile("(?ms)^```(go|yaml|ts)\n(.*?)^```$")

// Each Go block of the pages is a whole file, the only one of a package
// that the tests run, so it compiles alone.
func TestPage(t *testing.T) {
	var page []byte
	for _, name := range []string{"../docs/start/integrations.md", "../docs/move/bigint.md"} {
		data, err := os.ReadFile(name)
		check(t, err)
		page = append(page, data...)
	}
	files, all := map[string]bool{}, ""
	for _, pattern := range []string{
		"internal/page/*/*.go", "testdata/ent/orders.go", "testdata/ent/schema/*.go", "internal/*/*.yaml",
		"../test/clients/native/testdata/types.mts",
	} {
		paths, err := filepath.Glob(pattern)
		check(t, err)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			check(t, err)
			files[string(data)] = true
			all += string(data)
		}
	}
	n := 0
	for _, b := range block.FindAllStringSubmatch(string(page), -1) {
		if b[1] == "go" {
			n++
		}
		if b[1] == "go" && !files[b[2]] || !strings.Contains(all, b[2]) {
			t.Errorf("no test has this:\n%s", b[2])
		}
	}
	if n < 3 {
		t.Errorf("only %d files of Go", n)
	}
}
