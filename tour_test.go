package snowfence

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The list of files in doc.go names each file of this folder, and no file that is gone.
func TestDocNamesEachFile(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, tour, _ := strings.Cut(string(text), "\npackage snowfence\n")
	var named []string
	for _, pattern := range regexp.MustCompile(`\S+\.go\b`).FindAllString(tour, -1) {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Errorf("doc.go names %s, and no file has that name: %v", pattern, err)
		}
		named = append(named, files...)
	}
	all, _ := filepath.Glob("*.go")
	for _, f := range all {
		if !strings.HasSuffix(f, "_test.go") && !slices.Contains(named, f) {
			t.Errorf("doc.go does not say what %s is for", f)
		}
	}
}
