package compat

import (
	"bytes"
	"encoding/json"
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
)

// original is a package whose own tests have to pass against a layer. Its files come from
// the module cache: nothing of theirs is copied into this repository.
type original struct {
	module  string            // as in go.mod
	folder  string            // of the package inside the module; "" for its root
	layer   string            // the layer's folder below compat/
	imports map[string]string // other import paths of their tests, and what stands for them
	out     map[string]string // test functions that are left out, and why
}

// run runs the tests, and fails if one did not pass or did not run.
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
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ours {
		overlay[name] = ""
	}
	theirs, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(theirs) == 0 {
		t.Fatalf("no test files in %s: %v", dir, err)
	}
	temp, out, tests := t.TempDir(), maps.Clone(o.out), []string(nil)
	for _, name := range theirs {
		file, names := rewrite(t, name, imports, out)
		tests = append(tests, names...)
		to := filepath.Join(temp, filepath.Base(name))
		if err := os.WriteFile(to, file, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(home, "original_"+filepath.Base(name))] = to
	}
	for name := range out {
		t.Errorf("%s has no test %s to leave out", o.module, name)
	}
	config, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"test", "-overlay", file, "-count=1", "-vet=off", "-v"}, args...)
	cmd := exec.Command("go", append(args, library+o.layer)...)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("their tests: %v\n%s", err, said)
	}
	for _, name := range tests {
		if !regexp.MustCompile(`(?m)^--- PASS: ` + name + ` `).Match(said) {
			t.Errorf("%s did not run, or was skipped", name)
		}
	}
	t.Logf("%s: %d tests passed: %s", o.module, len(tests), strings.Join(tests, ", "))
}

// rewrite returns a test file with other import paths and without the tests in out, from which it
// takes what it left out, and the names of the tests that are left.
func rewrite(t *testing.T, name string, imports, out map[string]string) (text []byte, tests []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
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
		case spec.Name == nil && !used[base] && !strings.Contains(old, "."):
			spec.Name = ast.NewIdent("_") // a package of the standard library that only tests left out need
		}
	}
	var b bytes.Buffer
	if err := format.Node(&b, set, file); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), tests
}

// dropComments removes the comments of a function, which would land elsewhere.
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
