package snowfence_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pinnedModules pin one version of the root; no other module imports their packages.
var pinnedModules = map[string]bool{
	"cmd": true, "lab": true, "test": true, "internal/audit": true,
}

// Go lets every module below our path import our internal packages. These promise no compatibility,
// so a newer root would break an older store: only modules that pin one version of the root may.
func TestOnlyPinnedModulesImportInternalPackages(t *testing.T) {
	work, err := os.ReadFile("go.work")
	if err != nil {
		t.Fatal(err)
	}
	modules := regexp.MustCompile(`(?m)^\t\./(\S+)$`).FindAllStringSubmatch(string(work), -1)
	if len(modules) < 7 {
		t.Fatalf("go.work names only %d modules", len(modules))
	}
	for _, m := range modules {
		if !pinnedModules[m[1]] {
			checkNoInternal(t, m[1])
		}
	}
}

// checkNoInternal reads every Go file below dir, whatever system the file is for.
func checkNoInternal(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if strings.HasPrefix(imported, "github.com/snowfence/snowfence/internal/") {
				t.Errorf("%s imports %s, which may change with any version of the root module", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if files == 0 {
		t.Errorf("module %s has no Go files", dir)
	}
}
