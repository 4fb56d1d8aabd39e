package clib

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// client is a language. The functions build what its folder has, and return
// the command that runs it.
type client struct {
	folder  string
	need    []string
	example func(t *testing.T) []string // prints IDs: STORE N
	test    func(t *testing.T) []string // checks the client: STORE VECTORS; C has tests of its own
}

// environment is a client's, which finds the library.
func environment(t testing.TB) []string {
	dir := build(t)
	return append(os.Environ(), "SNOWFENCE_LIBRARY="+filepath.Join(dir, "libsnowfence.so.1"), "LD_LIBRARY_PATH="+dir,
		"LIBRARY_PATH="+dir,
		"CPATH="+dir, "SNOWFENCE_LIB_DIR="+dir, "MONO_THREADS_SUSPEND=coop")
}

// folder returns the path of a client.
func folder(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../clients", name))
	must(t, err)
	return path
}

// in returns a command in the folder of a client.
func in(t testing.TB, name string, line ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Dir, cmd.Env = folder(t, name), environment(t)
	return cmd
}

// command returns the command line of a client.
func command(args ...string) func(*testing.T) []string {
	return func(*testing.T) []string { return args }
}

// built returns the command of a program that a compiler makes: OUT in its
// line is the program.
func built(name string, line ...string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		dir := t.TempDir()
		path := filepath.Join(dir, "program")
		args := slices.Clone(line)
		for i := range args {
			args[i] = strings.NewReplacer("OUT", path, "DIR", dir, "LIB", build(t)).Replace(args[i])
		}
		tests.Run(t, in(t, name, args...))
		return []string{path}
	}
}

// mono returns the command of a program of C#.
func mono(class string) func(*testing.T) []string {
	compile := built("csharp", "mcs", "-warnaserror", "-out:OUT", class+".cs", "Snowfence.cs")
	return func(t *testing.T) []string { return append([]string{"mono"}, compile(t)...) }
}

// rust runs the tests of the crate, and returns the command of an example.
func rust(example string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		out := t.TempDir()
		for _, verb := range [][]string{{"test"}, {"build", "--examples"}} {
			line := append(append([]string{"cargo"}, verb...), "--release", "--offline", "--target-dir", out)
			tests.Run(t, in(t, "rust", line...))
		}
		return []string{filepath.Join(out, "release/examples", example)}
	}
}

// clients returns the languages of make test, and in full length also of
// make prove.
func clients() []client {
	c := []string{"gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", "OUT"}
	cpp := []string{"g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", "OUT"}
	d := []string{"gdc", "-O2", "-Wall", "-Werror", "-o", "OUT", "snowfence.d"}
	pascal := []string{"fpc", "-O2", "-vew", "-FlLIB", "-FUDIR", "-oOUT"}
	php := []string{"php", "-d", "ffi.enable=1"}
	with := func(line []string, more ...string) []string { return append(slices.Clone(line), more...) }
	all := []client{
		{"c", []string{"gcc"}, built("c", with(c, "example.c", "-lsnowfence")...), nil},
		{
			"cpp",
			[]string{"g++"},
			built("cpp", with(cpp, "example.cpp", "-lsnowfence")...),
			built("cpp", with(cpp, "test.cpp", "-lsnowfence")...),
		},
	}
	if testing.Short() {
		return all
	}
	return append(all,
		client{"rust", []string{"cargo"}, rust("example"), rust("check")},
		client{"php", []string{"php"}, command(with(php, "example.php")...), command(with(php, "test.php")...)},
		client{"perl", []string{"perl"}, command("perl", "example.pl"), command("perl", "test.pl")},
		client{"csharp", []string{"mcs", "mono"}, mono("Example"), mono("Test")},
		client{
			"pascal",
			[]string{"fpc"},
			built("pascal", with(pascal, "example.pas")...),
			built("pascal", with(pascal, "test.pas")...),
		},
		client{
			"d",
			[]string{"gdc"},
			built("d", with(d, "example.d", "-lsnowfence")...),
			built("d", with(d, "test.d", "-lsnowfence")...),
		},
	)
}

// vectors writes the shared vectors as lines of layout, ID, tick, node,
// sequence, rollback, scatter and tag, with "-" for what a layout has under
// another name.
func vectors(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/layouts.json")
	must(t, err)
	var layouts map[string]struct{ Vectors []map[string]any }
	must(t, json.Unmarshal(data, &layouts))
	var fields struct{ IDs []map[string]any }
	data, err = os.ReadFile("../../../testdata/specification/fields.json")
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	must(t, err)
	var lines []byte
	add := func(layout any, v map[string]any) {
		lines = fmt.Appendf(lines, "%s\t%s", layout, v["id"])
		for _, field := range []string{"tick", "node", "sequence", "rollback", "scatter", "tag"} {
			switch n := v[field].(type) {
			case float64:
				lines = fmt.Appendf(lines, "\t%d", int64(n))
			case string:
				lines = fmt.Appendf(lines, "\t%s", n)
			default:
				lines = append(lines, "\t-"...)
			}
		}
		lines = append(lines, '\n')
	}
	for name, l := range layouts {
		for _, v := range l.Vectors {
			add(name, v)
		}
	}
	for _, v := range fields.IDs {
		if v["secrets"] == nil {
			add(v["layout"], v)
		}
	}
	path := filepath.Join(t.TempDir(), "vectors.tsv")
	must(t, os.WriteFile(path, lines, 0o600))
	return path
}

// Each client decodes the shared vectors, and keeps its own promises.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, c := range clients() {
		if c.test == nil {
			continue
		}
		t.Run(c.folder, func(t *testing.T) {
			t.Parallel()
			servers.Need(t, c.folder, c.need...)
			url, _ := newStore(t)
			cmd := in(t, c.folder, append(c.test(t), url, vectors(t))...)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "ok\n") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	id, err := strconv.ParseInt(text, 10, 64)
	must(t, err)
	return id
}

// All languages, Go and the program make IDs over one SQLite file at the
// same time, and none comes twice. The program's audit reads all.
func TestLanguagesOverOneFile(t *testing.T) {
	servers.Later(t)
	t.Parallel()
	const each = 1_000_000
	url, st := newStore(t)
	dir := t.TempDir()
	commands := map[string]*exec.Cmd{}
	for _, c := range clients() {
		servers.Need(t, c.folder, c.need...)
		commands[c.folder] = in(t, c.folder, append(c.example(t), url, fmt.Sprint(each))...)
	}
	snowfence := servers.Program(t, servers.Snowfence)
	commands["program"] = exec.CommandContext(t.Context(), snowfence, "new", "--store", url, "-n", fmt.Sprint(each))
	var wg sync.WaitGroup
	for name, cmd := range commands {
		file, err := os.Create(filepath.Join(dir, name+".ids"))
		must(t, err)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = file, &stderr
		wg.Go(func() {
			if err := errors.Join(cmd.Run(), file.Close()); err != nil {
				t.Errorf("%s: %v\n%s", name, err, stderr.Bytes())
			}
		})
	}
	own := inGo(t, st, each)
	wg.Wait()
	lists, files := [][]int64{own}, []string{}
	for name := range commands {
		path := filepath.Join(dir, name+".ids")
		data, err := os.ReadFile(path)
		must(t, err)
		var ids []int64
		for line := range strings.Lines(string(data)) {
			ids = append(ids, number(t, strings.TrimSpace(line)))
		}
		if len(ids) != each {
			t.Errorf("%s made %d IDs", name, len(ids))
		}
		lists, files = append(lists, ids), append(files, path)
	}
	unique(t, each*len(lists), lists...)
	tests.Run(t, exec.CommandContext(t.Context(), snowfence, append([]string{"audit"}, files...)...))
}

// inGo makes IDs with the library of Go.
func inGo(t *testing.T, st store.Store, n int) []int64 {
	t.Helper()
	g, err := lease.Generator(t.Context(), st, nil)
	must(t, err)
	defer g.Close()
	ids := make([]int64, n)
	for i := range ids {
		id, err := g.Next(t.Context())
		must(t, err)
		ids[i] = int64(id)
	}
	return ids
}
