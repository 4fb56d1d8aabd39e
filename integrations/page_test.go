package integrations

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	block  = regexp.MustCompile("(?ms)^```(go|yaml|ts)\n(.*?)^```$")
	linked = regexp.MustCompile(`\]\(\.\./\.\./integrations/([^)]+\.[a-z]+)\)`)
)

// Each Go block of the pages is a whole file, the only one of a package
// that the tests run, so it compiles alone. Each file that they link is one
// of those, too.
func TestPage(t *testing.T) {
	var page []byte
	for _, name := range []string{"../docs/start/integrations.md", "../docs/move/bigint.md"} {
		data := must(os.ReadFile(name))
		page = append(page, data...)
	}
	tests := joined(t, "*_test.go")
	files, names, all := map[string]bool{}, map[string]bool{}, ""
	for _, pattern := range []string{
		"internal/page/*/*.go", "testdata/ent/orders.go", "testdata/ent/schema/*.go", "internal/*/*.yaml",
		"../test/clients/native/testdata/types.mts",
	} {
		paths := must(filepath.Glob(pattern))
		for _, path := range paths {
			text := joined(t, path)
			files[text], names[path] = true, true
			all += text
			folder := filepath.Dir(path)
			if strings.HasPrefix(pattern, "internal/page/") && !strings.Contains(tests, "/integrations/"+folder+`"`) {
				t.Errorf("no test imports %s", folder)
			}
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
	for _, l := range linked.FindAllStringSubmatch(string(page), -1) {
		if filepath.Ext(l[1]) == ".go" {
			n++
		}
		if !names[l[1]] {
			t.Errorf("no test has the file %s", l[1])
		}
	}
	if n < 9 {
		t.Errorf("only %d files of Go", n)
	}
}

// joined returns the text of all files of a pattern.
func joined(t *testing.T, pattern string) (text string) {
	t.Helper()
	paths := must(filepath.Glob(pattern))
	for _, path := range paths {
		data := must(os.ReadFile(path))
		text += string(data)
	}
	return text
}
