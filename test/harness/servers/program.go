package servers

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"
)

// Snowfence is the package of the program that users run.
const Snowfence = "github.com/snowfence/snowfence/cmd/snowfence"

var built struct {
	sync.Mutex
	dir string
}

// Program builds the program of a package, if no test did, and returns the path of it. The
// tests of who calls it run by [Main], which removes it.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "snowfence-programs")
		if err != nil {
			t.Fatal(err)
		}
		built.dir = dir
	}
	file := filepath.Join(built.dir, path.Base(pkg))
	if _, err := os.Stat(file); err == nil {
		return file
	}
	build := exec.Command("go", "build", "-tags=grpcnotrace", "-ldflags=-s", "-o", file, pkg) // as a release is
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return file
}

// Main runs the tests of a package that calls [Program] and returns the code to exit with.
func Main(m *testing.M) int {
	defer func() { os.RemoveAll(built.dir) }()
	return m.Run()
}
