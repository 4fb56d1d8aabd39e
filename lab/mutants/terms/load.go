package terms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// loaded is one package with the types of its expressions.
type loaded struct {
	dir   string // relative to the root of the repository, "." for the root package
	name  string
	fset  *token.FileSet
	files map[string]*ast.File // by path relative to the root of the repository
	code  map[string][]byte
	info  *types.Info
	types *types.Package
}

// load parses and checks the package in a folder.
func load(root, dir string) (*loaded, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles,Dir,DepOnly", "./"+dir)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("terms: go list ./%s: %w", dir, err)
	}
	exports := map[string]string{}
	p := &loaded{dir: dir, fset: token.NewFileSet(), files: map[string]*ast.File{}, code: map[string][]byte{}}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	var all []*ast.File
	path := ""
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
			DepOnly                 bool
		}
		if err := in.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[pkg.ImportPath] = pkg.Export
		if pkg.DepOnly {
			continue
		}
		path = pkg.ImportPath
		for _, name := range pkg.GoFiles {
			code, err := os.ReadFile(filepath.Join(pkg.Dir, name))
			if err != nil {
				return nil, err
			}
			f, err := parser.ParseFile(p.fset, name, code, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			p.name = f.Name.Name
			p.files[filepath.Join(dir, name)], p.code[filepath.Join(dir, name)] = f, code
			all = append(all, f)
		}
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", lookup)}
	p.types, err = conf.Check(path, p.fset, all, p.info)
	return p, err
}
