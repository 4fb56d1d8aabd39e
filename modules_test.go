package snowfence_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pinnedModules pin one version of the root; no other module imports their
// packages.
var pinnedModules = map[string]bool{"cmd": true, "lab": true, "test": true, "internal/audit": true}

// Go lets every module below our path import our internal packages. These
// promise no compatibility, so a newer root would break an older store:
// only modules that pin one version of the root may.
func TestOnlyPinnedModulesImportInternalPackages(t *testing.T) {
	work := must(os.ReadFile("go.work"))
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

// checkNoInternal reads every Go file below dir, whatever system the file
// is for.
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
	noError(t, err)
	if files == 0 {
		t.Errorf("module %s has no Go files", dir)
	}
}

// The library promises to bring nothing along: no package of the root
// module needs more than the standard library, and its tests neither,
// because go.sum of a user lists what go.mod requires.
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

// TestPagesNameWhatExists looks for each name of Go that a page has in
// code, such as lease.Options.TTL.
func TestPagesNameWhatExists(t *testing.T) {
	found, packages := exportedNames(t)
	if len(found) < 500 {
		t.Fatalf("found only %d names", len(found))
	}
	paths := must(filepath.Glob("docs/*/*.md"))
	n := 0
	for _, page := range append(paths, "README.md", "AGENTS.md", "llms.txt") {
		text := must(os.ReadFile(page))
		for _, m := range quotedName.FindAllStringSubmatch(string(text), -1) {
			if !packages[m[1]] || m[0] == "`snowfence.Error" { // Python's and Rust's
				continue
			}
			if n++; !found[m[1]+"."+m[2]] {
				t.Errorf("%s: %s.%s is not exported", page, m[1], m[2])
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d names", n)
	}
}

var quotedName = regexp.MustCompile("`\\*?([a-z]\\w*)\\.([A-Z]\\w*(?:\\.[A-Z]\\w*)?)")

// exportedNames returns all names that users can import, as package.Name
// and package.Type.Name, whatever system a file is for, and the names of
// the packages.
func exportedNames(t *testing.T) (found, packages map[string]bool) {
	t.Helper()
	found, packages = map[string]bool{}, map[string]bool{}
	noError(t, filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != "." && (pinnedModules[path] || !importable(e.Name())):
			return fs.SkipDir
		case e.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil || file.Name.Name == "main" {
			return err
		}
		packages[file.Name.Name] = true
		addNames(found, file.Name.Name+".", file)
		return nil
	}))
	return found, packages
}

// importable reports whether packages in a folder of the name can be
// imported.
func importable(folder string) bool {
	return folder != "internal" && folder != "testdata" && !strings.ContainsAny(folder[:1], "._")
}

// addNames adds the exported names of a file behind a prefix, methods and
// fields as Type.Name.
func addNames(names map[string]bool, prefix string, file *ast.File) {
	add := func(owner string, ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names[prefix+owner+id.Name] = true
			}
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add("", d.Name)
			} else if owner := typeName(d.Recv.List[0].Type); ast.IsExported(owner) {
				add(owner+".", d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					add("", s.Names...)
				case *ast.TypeSpec:
					add("", s.Name)
					for _, member := range members(s.Type) {
						switch {
						case !s.Name.IsExported():
						case member.Names == nil:
							add(s.Name.Name+".", ast.NewIdent(typeName(member.Type)))
						default:
							add(s.Name.Name+".", member.Names...)
						}
					}
				}
			}
		}
	}
}

// members returns the fields of a struct and the methods of an interface.
func members(typ ast.Expr) []*ast.Field {
	switch x := typ.(type) {
	case *ast.StructType:
		return x.Fields.List
	case *ast.InterfaceType:
		return x.Methods.List
	}
	return nil
}

// typeName returns the name of a receiver's or an embedded field's type.
func typeName(typ ast.Expr) string {
	switch x := typ.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
