package terms

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// loaded is one package with the types of its expressions.
type loaded struct {
	name  string
	fset  *token.FileSet
	files map[string]*ast.File // by path relative to the root of the repository
	code  map[string][]byte
	info  *types.Info
	own   *types.Package
}

// imports reads the types of what the packages of a scope import as the
// compiler wrote them.
func imports(root string, scope []Scope, fset *token.FileSet) (types.Importer, error) {
	args := []string{"list", "-deps", "-export", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, s := range scope {
		args = append(args, "./"+filepath.Dir(s.File))
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("terms: compiling what the packages import: %w", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	}), nil
}

// load parses and checks the package in a folder. from reads the packages
// that it imports.
func load(root, dir string, fset *token.FileSet, from types.Importer) (*loaded, error) {
	pkg, err := build.ImportDir(filepath.Join(root, dir), 0)
	if err != nil {
		return nil, err
	}
	p := &loaded{name: pkg.Name, fset: fset, files: map[string]*ast.File{}, code: map[string][]byte{}}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	var all []*ast.File
	for _, name := range pkg.GoFiles {
		code, err := os.ReadFile(filepath.Join(pkg.Dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, filepath.Join(pkg.Dir, name), code, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files[filepath.Join(dir, name)], p.code[filepath.Join(dir, name)] = f, code
		all = append(all, f)
	}
	p.own, err = (&types.Config{Importer: from}).Check(dir, fset, all, p.info)
	return p, err
}
