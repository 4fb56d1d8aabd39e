package snowfence_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const exportedPage = "docs/reference/go.md"

// A name stays exported only if the page says why a user needs it.
func TestEveryExportedNameHasAReason(t *testing.T) {
	page, err := os.ReadFile(exportedPage)
	if err != nil {
		t.Fatal(err)
	}
	listed, mistakes := readReasons(string(page))
	for _, m := range mistakes {
		t.Errorf("%s: %s", exportedPage, m)
	}
	found := exportedNames(t)
	if len(found) < 8 {
		t.Fatalf("found only %d packages", len(found))
	}
	for _, m := range compareNames(found, listed) {
		t.Error(m)
	}
}

// reason is a row of the page, and whether it stands in a table for servers.
type reason struct {
	text    string
	servers bool
}

var (
	packageHeading = regexp.MustCompile("^### Package `(.+)`$")
	quotedName     = regexp.MustCompile("`([A-Z][A-Za-z0-9_]*(?:\\.[A-Z][A-Za-z0-9_]*)?)`")
	nameCell       = regexp.MustCompile("^`[^`]+`(?:, `[^`]+`)*$")
)

// readReasons returns the names of each package on a page with their reasons.
func readReasons(page string) (map[string]map[string]reason, []string) {
	listed, mistakes := map[string]map[string]reason{}, []string(nil)
	var names map[string]reason
	servers := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if m := packageHeading.FindStringSubmatch(line); m != nil {
			names, servers = map[string]reason{}, false
			listed[m[1]] = names
			continue
		}
		if strings.HasPrefix(line, "**") {
			servers = line == "**For servers**"
		}
		if names == nil || !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.SplitN(strings.Trim(line, "|"), "|", 2)
		cell, text := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[len(cells)-1])
		if !nameCell.MatchString(cell) {
			mistakes = append(mistakes, "write the names of a row as `A`, `A.B` in: "+line)
		}
		if len(cells) < 2 || len(strings.Fields(text)) < 3 || !strings.HasSuffix(text, ".") {
			mistakes = append(mistakes, "write a sentence, with a full stop, that says why a user needs "+cell)
		}
		for _, m := range quotedName.FindAllStringSubmatch(cell, -1) {
			if _, twice := names[m[1]]; twice {
				mistakes = append(mistakes, "list "+m[1]+" once")
			}
			names[m[1]] = reason{text, servers}
		}
	}
	return listed, mistakes
}

// compareNames returns what differs between the code and the page.
func compareNames(found map[string]map[string]string, listed map[string]map[string]reason) (out []string) {
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		for _, name := range slices.Sorted(maps.Keys(found[pkg])) {
			r, ok := listed[pkg][name]
			said := strings.Contains(strings.ToLower(found[pkg][name]), "for servers")
			switch {
			case !ok:
				out = append(out, "package "+pkg+" exports "+name+": write in "+exportedPage+
					" why a user needs it, or unexport it")
			case strings.Contains(name, "."):
			case r.servers && !said:
				out = append(out, "package "+pkg+": write in the comment of "+name+" that it is for servers")
			case said && !r.servers:
				out = append(out, "package "+pkg+": "+name+" is for servers: list it in that table")
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(listed)) {
		for _, name := range slices.Sorted(maps.Keys(listed[pkg])) {
			if _, ok := found[pkg][name]; !ok {
				out = append(out, "package "+pkg+" does not export "+name+": take it out of "+exportedPage)
			}
		}
	}
	return out
}

// exportedNames returns the exported names of every package that users can import, with
// their comments, whatever system a file is for.
func exportedNames(t *testing.T) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	for _, f := range publicFiles(t) {
		if found[f.pkg] == nil {
			found[f.pkg] = map[string]string{}
		}
		addNames(found[f.pkg], f.file)
	}
	return found
}

// publicFile is a file of a package that users can import.
type publicFile struct {
	pkg  string // path in the repository; "snowfence" for the root
	file *ast.File
}

// publicFiles parses all such files, except tests and generated code.
func publicFiles(t *testing.T) (files []publicFile) {
	t.Helper()
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
		if err != nil {
			return err
		}
		if file.Name.Name != "main" && !ast.IsGenerated(file) {
			pkg := filepath.ToSlash(filepath.Dir(path))
			if pkg == "." {
				pkg = "snowfence"
			}
			files = append(files, publicFile{pkg, file})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// importable reports whether packages in a folder of the name can be imported.
func importable(folder string) bool {
	return folder != "internal" && folder != "testdata" && !strings.ContainsAny(folder[:1], "._")
}

// addNames adds the exported names of a file, methods and fields as Type.Name.
func addNames(names map[string]string, file *ast.File) {
	add := func(owner string, id *ast.Ident, doc *ast.CommentGroup) {
		if id.IsExported() {
			names[owner+id.Name] = doc.Text()
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add("", d.Name, d.Doc)
			} else if owner := typeName(d.Recv.List[0].Type); ast.IsExported(owner) {
				add(owner+".", d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add("", id, cmp.Or(s.Doc, d.Doc))
					}
				case *ast.TypeSpec:
					add("", s.Name, cmp.Or(s.Doc, d.Doc))
					if s.Name.IsExported() {
						for _, member := range members(s.Type) {
							for _, id := range member.Names {
								add(s.Name.Name+".", id, member.Doc)
							}
							if member.Names == nil {
								add(s.Name.Name+".", ast.NewIdent(typeName(member.Type)), member.Doc)
							}
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
