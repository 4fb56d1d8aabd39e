package snowfence_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The library promises to bring nothing along: no package of the root module needs more than the
// standard library, and its tests neither, because go.sum of a user lists what go.mod requires.
func TestRootModuleNeedsOnlyTheStandardLibrary(t *testing.T) {
	const imports = "{{if not .Standard}}{{.ImportPath}}{{end}}"
	out, err := exec.Command("go", "list", "-deps", "-f", imports, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	own := 0
	for _, path := range strings.Fields(string(out)) {
		switch {
		case path == "github.com/snowfence/snowfence" || strings.HasPrefix(path, "github.com/snowfence/snowfence/"):
			own++
		default:
			t.Errorf("the root module needs %s", path)
		}
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil || strings.Contains(string(mod), "require") {
		t.Errorf("go.mod requires a module: %v\n%s", err, mod)
	}
	if own == 0 {
		t.Error("go list named no package of this module")
	}
}
