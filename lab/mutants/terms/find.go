package terms

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is one broken term.
type Mutant struct {
	Key  string // the function, the expression and what is wrong with it: the same wherever the line moves
	Line string // file and line, for people
	id   int    // number in the instrumented copy
}

// edit is a piece of code that is put at a place instead of del bytes.
type edit struct {
	at, del int
	text    string
	after   bool // belongs to what ends here, not to what begins
	order   int
}

// finder collects the mutants of one file.
type finder struct {
	p     *loaded
	path  string
	fn    string
	found *[]Mutant
	keys  map[string]int
	edits []edit
	lone  map[ast.Expr]bool // conditions that are dropped as a whole
}

// Find returns all mutants of the files of a scope and their instrumented
// copies, by path.
func Find(root string, scope []Scope) ([]Mutant, map[string][]byte, error) {
	var found []Mutant
	copies, pkgs := map[string][]byte{}, map[string]*loaded{}
	keys := map[string]int{}
	fset := token.NewFileSet()
	from, err := imports(root, scope, fset)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range scope {
		dir := filepath.Dir(s.File)
		p := pkgs[dir]
		if p == nil {
			var err error
			if p, err = load(root, dir, fset, from); err != nil {
				return nil, nil, err
			}
			pkgs[dir] = p
			copies[filepath.Join(dir, "mutants_chosen.go")] = []byte("package " + p.name + "\n" + helpers)
		}
		file := p.files[s.File]
		if file == nil {
			return nil, nil, fmt.Errorf("terms: %s is not there: correct the list of files in scope.go", s.File)
		}
		f := &finder{p: p, path: s.File, found: &found, keys: keys, lone: map[ast.Expr]bool{}}
		missing := slices.Clone(s.Funcs)
		for _, d := range file.Decls {
			fd, ok := d.(*ast.FuncDecl)
			if !ok || fd.Body == nil {
				continue
			}
			name := nameOf(fd)
			if len(s.Funcs) > 0 && !slices.Contains(s.Funcs, name) {
				continue
			}
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == name })
			f.fn = name
			if dir != "." {
				f.fn = dir + "." + name
			}
			ast.Inspect(fd.Body, f.visitNode)
		}
		if len(missing) > 0 {
			return nil, nil, fmt.Errorf("terms: %s has no function %v: correct the list in scope.go", s.File, missing)
		}
		copies[s.File] = f.applyEdits(p.code[s.File])
	}
	return found, copies, nil
}

// nameOf returns the name of a function with its receiver's type.
func nameOf(fd *ast.FuncDecl) string {
	if fd.Recv == nil {
		return fd.Name.Name
	}
	t := fd.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name + "." + fd.Name.Name
		default:
			return fd.Name.Name
		}
	}
}

func (f *finder) offset(p token.Pos) int { return f.p.fset.Position(p).Offset }

// addMutant notes a mutant and returns its number.
func (f *finder) addMutant(at ast.Node, in ast.Node, what string) int {
	key := f.fn + ": " + f.sourceOf(in) + ": " + what
	if f.keys[key]++; f.keys[key] > 1 {
		key += fmt.Sprintf(" (%d)", f.keys[key])
	}
	id := len(*f.found) + 1
	line := fmt.Sprintf("%s:%d", f.path, f.p.fset.Position(at.Pos()).Line)
	*f.found = append(*f.found, Mutant{Key: key, Line: line, id: id})
	return id
}

// sourceOf returns the source of a node on one line.
func (f *finder) sourceOf(n ast.Node) string {
	code := f.p.code[f.path][f.offset(n.Pos()):f.offset(n.End())]
	return strings.Join(strings.Fields(string(code)), " ")
}

func (f *finder) addEdit(p token.Pos, del int, after bool, format string, args ...any) {
	f.edits = append(f.edits, edit{f.offset(p), del, fmt.Sprintf(format, args...), after, len(f.edits)})
}

// wrapNode puts text around an expression.
func (f *finder) wrapNode(e ast.Expr, before, behind string) {
	f.addEdit(e.Pos(), 0, false, "%s", before)
	f.addEdit(e.End(), 0, true, "%s", behind)
}
