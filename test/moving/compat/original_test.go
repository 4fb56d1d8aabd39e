package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

var must = tests.NoError

// original is a package whose own tests have to pass against a layer. Its
// files come from the module cache: nothing of theirs is copied into this
// repository.
type original struct {
	module  string            // as in go.mod
	folder  string            // of the package inside the module; "" for its root
	layer   string            // the layer's folder below compat/
	imports map[string]string // other import paths of their tests, and what stands for them
	out     map[string]string // test functions that are left out, and why
	files   map[string]string // files below compat/ that have another text, or are there for these tests only

	// Tests that expect to wait no longer than they asked for. Each runs in
	// a process of its own and in a synctest bubble, whose clock is never
	// late. before is Go with which each begins; their init is theirInit
	// there.
	bubbles []string
	before  string
}

// run runs the tests, with args for their program, and fails if one did not
// pass or did not run.
func (o original) run(t *testing.T, args ...string) {
	t.Helper()
	const library = "github.com/snowfence/snowfence/compat/"
	dir := filepath.Join(output(t, "go", "list", "-m", "-f", "{{.Dir}}", o.module), filepath.FromSlash(o.folder))
	home := output(t, "go", "list", "-f", "{{.Dir}}", library+o.layer)
	imports := map[string]string{path.Join(o.module, o.folder): library + o.layer}
	maps.Copy(imports, o.imports)

	// The files of the layer, with their tests in the place of ours.
	overlay := map[string]string{}
	ours, err := filepath.Glob(filepath.Join(home, "*_test.go"))
	must(t, err)
	for _, name := range ours {
		overlay[name] = ""
	}
	theirs, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(theirs) == 0 {
		t.Fatalf("no test files in %s: %v", dir, err)
	}
	temp, out, tests := t.TempDir(), maps.Clone(o.out), []string(nil)
	for _, name := range theirs {
		file, names := o.rewrite(t, name, imports, out)
		tests = append(tests, names...)
		to := filepath.Join(temp, filepath.Base(name))
		must(t, os.WriteFile(to, file, 0o600))
		overlay[filepath.Join(home, "original_"+filepath.Base(name))] = to
	}
	for name := range out {
		t.Errorf("%s has no test %s to leave out", o.module, name)
	}
	files := map[string]string{}
	maps.Copy(files, o.files)
	if len(o.bubbles) > 0 {
		pkg := output(t, "go", "list", "-f", "{{.Name}}", library+o.layer)
		files[path.Join(o.layer, "original_bubbles_test.go")] = o.wrappers(pkg)
	}
	for name, text := range files {
		to := filepath.Join(temp, strings.ReplaceAll(name, "/", "_"))
		must(t, os.WriteFile(to, []byte(text), 0o600))
		overlay[filepath.Join(output(t, "go", "list", "-f", "{{.Dir}}", library+path.Dir(name)), path.Base(name))] = to
	}
	config, err := json.Marshal(map[string]any{"Replace": overlay})
	must(t, err)
	file := filepath.Join(temp, "overlay.json")
	must(t, os.WriteFile(file, config, 0o600))
	binary := filepath.Join(temp, "original.test")
	cmd := exec.Command("go", "test", "-c", "-overlay", file, "-vet=off", "-o", binary, library+o.layer)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("their tests: %v\n%s", err, said)
	}
	said = runTests(t, home, binary, append(args, "-test.skip", "^("+strings.Join(o.bubbles, "|")+")$")...)
	for _, name := range o.bubbles {
		said = append(said, runTests(t, home, binary, append(args, "-test.run", "^"+name+"$")...)...)
	}
	for _, name := range tests {
		if !regexp.MustCompile(`(?m)^--- PASS: ` + name + ` `).Match(said) {
			t.Errorf("%s did not run, or was skipped", name)
		}
	}
	t.Logf("%s: %d tests passed: %s", o.module, len(tests), strings.Join(tests, ", "))
}

// runTests returns the output of a test binary. Without the garbage
// collector: its cleanups run outside of bubbles, where they may not touch
// what was made inside.
func runTests(t *testing.T, dir, binary string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(binary, append(args, "-test.v")...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOGC=off")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("their tests: %v\n%s", err, said)
	}
	return said
}

// wrappers returns a file that runs tests in bubbles.
func (o original) wrappers(pkg string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"testing\"\n\t\"testing/synctest\"\n\t\"time\"\n)\n\n"+
		"func before() {\n\t%s\n}\n\nvar _ time.Time\n", pkg, o.before)
	for _, name := range o.bubbles {
		fmt.Fprintf(&b, "\nfunc %s(t *testing.T) {\n\tsynctest.Test(t, func(t *testing.T) { "+
			"before(); their%[1]s(t) })\n}\n", name)
	}
	return b.String()
}

// rewrite returns a test file with other import paths and without the tests
// in out, from which it takes what it left out, and the names of the tests
// that are left.
func (o original) rewrite(t *testing.T, name string, imports, out map[string]string) (text []byte, tests []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
	must(t, err)
	file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			return false
		}
		if _, left := out[f.Name.Name]; left {
			delete(out, f.Name.Name)
			dropComments(file, f)
			return true
		}
		if strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
			tests = append(tests, f.Name.Name)
		}
		if slices.Contains(o.bubbles, f.Name.Name) || len(o.bubbles) > 0 && f.Name.Name == "init" {
			f.Name.Name = "their" + strings.ToUpper(f.Name.Name[:1]) + f.Name.Name[1:]
		}
		return false
	})
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, spec := range file.Imports {
		old, err := strconv.Unquote(spec.Path.Value)
		must(t, err)
		base := path.Base(old)
		if regexp.MustCompile(`^v[0-9]+$`).MatchString(base) {
			base = path.Base(path.Dir(old))
		}
		switch to := imports[old]; {
		case to != "":
			spec.Path.Value = strconv.Quote(to)
			if spec.Name == nil {
				spec.Name = ast.NewIdent(base)
			}
		case spec.Name == nil && !used[base] && (!strings.Contains(old, ".") || strings.HasPrefix(old, o.module)):
			spec.Name = ast.NewIdent("_") // a package that only tests left out need
		}
	}
	var b bytes.Buffer
	must(t, format.Node(&b, set, file))
	return b.Bytes(), tests
}

// dropComments removes the comments of a function, which would land
// elsewhere.
func dropComments(file *ast.File, f *ast.FuncDecl) {
	from := f.Pos()
	if f.Doc != nil {
		from = f.Doc.Pos()
	}
	file.Comments = slices.DeleteFunc(file.Comments, func(c *ast.CommentGroup) bool {
		return c.Pos() >= from && c.End() <= f.End()
	})
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}
