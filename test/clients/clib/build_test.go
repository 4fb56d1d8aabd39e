package clib

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

// tags leave all drivers but SQLite's out.
const tags = "snowfence_no_postgres,snowfence_no_mysql,snowfence_no_redis,snowfence_no_etcd"

// folders are removed when all tests have ended.
var folders struct {
	sync.Mutex
	all []string
}

// library is the folder with the library that the tests use, built once. It
// has SQLite's driver only, because the others take minutes to compile;
// each driver has tests of its own in Go.
var library = sync.OnceValues(func() (string, error) { return lib("shared", tags) })

// wholeLibrary has the drivers of servers, too. It takes minutes to
// compile.
var wholeLibrary = sync.OnceValues(func() (string, error) {
	return lib("shared", "snowfence_no_mysql,snowfence_no_etcd")
})

// lib builds a part of the library without the drivers of some tags, and
// returns its folder.
func lib(part, tags string) (string, error) {
	dir, err := os.MkdirTemp("", "snowfence-clib")
	if err != nil {
		return "", err
	}
	folders.Lock()
	folders.all = append(folders.all, dir)
	folders.Unlock()
	cmd := exec.Command("scripts/lib.sh", dir, tags)
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "PARTS="+part)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("scripts/lib.sh: %w\n%s", err, out)
	}
	return dir, nil
}

func TestMain(m *testing.M) {
	code := servers.Main(m)
	for _, dir := range folders.all {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// build returns the folder of the library.
func build(t testing.TB) string {
	t.Helper()
	servers.Need(t, "gcc", "gcc")
	dir, err := library()
	must(t, err)
	return dir
}

// whole returns the folder of the library with the drivers of servers.
func whole(t *testing.T) string {
	t.Helper()
	servers.Need(t, "gcc", "gcc")
	dir, err := wholeLibrary()
	must(t, err)
	return dir
}

// gcc compiles a program.
func gcc(path string, args ...string) error {
	args = append([]string{
		"-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-o", path,
	}, append(args, "-I../../../cmd/libsnowfence/c")...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("gcc %v: %w\n%s", args, err, out)
	}
	return nil
}

// compile compiles a program for one test, and returns its path.
func compile(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	must(t, gcc(path, args...))
	return path
}

// checkProgram is the program of testdata/check.c, linked with the library
// and compiled once.
var checkProgram = sync.OnceValues(func() (string, error) {
	dir, err := library()
	if err != nil {
		return "", err
	}
	return compileCheck(dir)
})

func compileCheck(dir string) (string, error) {
	path := filepath.Join(dir, "check")
	return path, gcc(path, "testdata/check.c", "-L"+dir, "-lsnowfence", "-Wl,-rpath,"+dir, "-lpthread", "-ldl")
}

func check(t *testing.T) string {
	t.Helper()
	build(t)
	path, err := checkProgram()
	must(t, err)
	return path
}

// run runs a program to its end, and returns its standard output.
func run(t *testing.T, path string, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s", filepath.Base(path), args, err, stderr.Bytes())
	}
	return stdout.Bytes()
}

// What make install puts below a folder is enough to compile, link and run
// a program.
func TestInstall(t *testing.T) {
	t.Parallel()
	from, to := build(t), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "scripts/install.sh", from, "/opt/snowfence", to)
	cmd.Dir = "../../.."
	tests.Run(t, cmd)
	lib := filepath.Join(to, "opt/snowfence/lib")
	pc, err := os.ReadFile(filepath.Join(lib, "pkgconfig/snowfence.pc"))
	if err != nil || !bytes.Contains(pc, []byte("prefix=/opt/snowfence\n")) {
		t.Errorf("%s, %v", pc, err)
	}
	path := compile(t, "../../../clients/c/example.c", "-I"+filepath.Join(to, "opt/snowfence/include"), "-L"+lib,
		"-lsnowfence",
		"-Wl,-rpath,"+lib)
	if ids := bytes.Fields(run(t, path, "mem:", "5")); len(ids) != 5 {
		t.Errorf("%q", ids)
	}
}
