package snowfence_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const exportedPage = "docs/reference/go.md"

// The page has each exported name once, and no other.
func TestPageHasEachExportedName(t *testing.T) {
	page, err := os.ReadFile(exportedPage)
	if err != nil {
		t.Fatal(err)
	}
	listed, pkg := map[string]bool{}, ""
	for line := range strings.Lines(string(page)) {
		if m := packageHeading.FindStringSubmatch(line); m != nil {
			pkg = m[1]
			continue
		}
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if pkg == "" || !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, m := range quotedName.FindAllStringSubmatch(cell, -1) {
			name := pkg + " " + m[1]
			if listed[name] {
				t.Errorf("list %s once", name)
			}
			listed[name] = true
		}
	}
	found := exportedNames(t)
	if len(found) < 500 {
		t.Fatalf("found only %d names", len(found))
	}
	for name := range found {
		if !listed[name] {
			t.Errorf("write in %s why a user needs %s, or unexport it", exportedPage, name)
		}
	}
	for name := range listed {
		if !found[name] {
			t.Errorf("%s is not exported: take it out of %s", name, exportedPage)
		}
	}
}

var (
	packageHeading = regexp.MustCompile("^### Package `(.+)`")
	quotedName     = regexp.MustCompile("`([A-Z][A-Za-z0-9_]*(?:\\.[A-Z][A-Za-z0-9_]*)?)`")
)

// exportedNames returns the package and the name of all that users can import, whatever system a
// file is for.
func exportedNames(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != "." && (pinnedModules[path] || !importable(e.Name())):
			return fs.SkipDir
		case e.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil || file.Name.Name == "main" || ast.IsGenerated(file) {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		if pkg == "." {
			pkg = "snowfence"
		}
		addNames(found, pkg+" ", file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// importable reports whether packages in a folder of the name can be imported.
func importable(folder string) bool {
	return folder != "internal" && folder != "testdata" && !strings.ContainsAny(folder[:1], "._")
}

// addNames adds the exported names of a file behind a prefix, methods and fields as Type.Name.
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
