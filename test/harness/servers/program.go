package servers

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// Snowfence is the package of the program that users run.
const Snowfence = "github.com/snowfence/snowfence/cmd/snowfence"

var built struct {
	sync.Mutex
	dir string
}

// Program builds the program of a package with the drivers of all stores,
// if no test did, and returns the path of it. The caller's tests run by
// [Main], which removes it. Make test builds Snowfence once for all
// packages, and names its folder in TEST_PROGRAMS.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	if dir := os.Getenv("TEST_PROGRAMS"); dir != "" && pkg == Snowfence {
		return filepath.Join(dir, path.Base(pkg))
	}
	// As a release is, with Amazon's stores.
	return build(t, path.Base(pkg), pkg, nil, "-tags=grpcnotrace,snowfence_amazon")
}

// Serve starts the program as a server over a store, and waits until it is
// alive at the address that it returns.
func Serve(t testing.TB, store string, args ...string) (p *Process, address string) {
	t.Helper()
	address = Address(Ports(t, 1)[0])
	p = Start(t, "snowfence", Program(t, Snowfence), append([]string{
		"serve", "--store", store, "--http", address, "--resp", "",
	}, args...), []string{"HOME=" + t.TempDir()})
	p.Ready(t, func() error {
		_, err := Get(t.Context(), "http://"+address+"/healthz")
		return err
	})
	return p, address
}

// build is Program with flags of go build, and more of its environment.
func build(t testing.TB, name, pkg string, env []string, flags ...string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		temp, err := os.MkdirTemp("", "snowfence-programs")
		must(t, err)
		built.dir = temp
	}
	file := filepath.Join(built.dir, name)
	if _, err := os.Stat(file); err == nil {
		return file
	}
	cmd := exec.Command("go", slices.Concat([]string{"build"}, flags, []string{"-ldflags=-s", "-o", file, pkg})...)
	cmd.Env = append(os.Environ(), env...)
	tests.Run(t, cmd)
	return file
}

// Main runs the tests of a package that calls [Program] and returns the
// code to exit with.
func Main(m *testing.M) int {
	defer func() { os.RemoveAll(built.dir) }()
	return m.Run()
}
