package mutants

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// op is one change of a function. A piece of code is named by its own text
// on one line, without comments; "(2)" after it means the second such
// piece. Where lines move, or are wrapped in another way, the op stays as
// it is.
type op struct {
	kind     string
	at, with string
	in       string // another function than the mutant's
}

// never and always decide a condition.
func never(condition string) op  { return op{kind: "never", at: condition} }
func always(condition string) op { return op{kind: "always", at: condition} }

// swap puts another expression or statement in the place of one.
func swap(at, with string) op { return op{kind: "swap", at: at, with: with} }

// drop removes a statement. The beginning of a long one will do.
func drop(statement string) op { return op{kind: "drop", at: statement} }

// before and after add statements beside one.
func before(statement, add string) op { return op{kind: "before", at: statement, with: add} }
func after(statement, add string) op  { return op{kind: "after", at: statement, with: add} }

// inText changes a piece of the function's text, such as a word of an SQL
// statement.
func inText(old, with string) op { return op{kind: "text", at: old, with: with} }

// also changes another function, too.
func also(function string, o op) op { o.in = function; return o }

// applied returns the files that the ops change, by path. The function is
// the package's folder, a dot, the receiver's type and the name:
// "lease.Lease.keep". Functions of the root have no folder. A function can
// be a variable, a constant or a type, too. For a file that is not Go, it
// is the path, and ops are texts of it.
func applied(root, function string, ops []op) (map[string][]byte, error) {
	if strings.Contains(filepath.Base(function), ".lua") {
		return appliedText(root, function, ops)
	}
	files := map[string][]byte{}
	for _, o := range ops {
		in := cmp.Or(o.in, function)
		folder, name := split(root, in)
		paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			return nil, err
		}
		path, src, err := find(paths, files, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in, err)
		}
		if files[path], err = o.apply(src, name); err != nil {
			return nil, fmt.Errorf("%s: %w", in, err)
		}
	}
	return files, nil
}

func appliedText(root, file string, ops []op) (map[string][]byte, error) {
	path := filepath.Join(root, file)
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, o := range ops {
		if n := bytes.Count(src, []byte(o.at)); n != 1 {
			return nil, fmt.Errorf("%s has %q %d times, not once", file, o.at, n)
		}
		src = bytes.Replace(src, []byte(o.at), []byte(o.with), 1)
	}
	return map[string][]byte{path: src}, nil
}

// split returns the folder and the name of a function: "lease" and
// "claim.renew".
func split(root, function string) (folder, name string) {
	slash := strings.LastIndexByte(function, '/') + 1
	if folder, name, ok := strings.Cut(function[slash:], "."); ok {
		folder = function[:slash] + folder
		if info, err := os.Stat(filepath.Join(root, folder)); err == nil && info.IsDir() {
			return folder, name
		}
	}
	return ".", function
}

// find returns the file that declares a name.
func find(paths []string, files map[string][]byte, name string) (string, []byte, error) {
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		src := files[path]
		if src == nil {
			var err error
			if src, err = os.ReadFile(path); err != nil {
				return "", nil, err
			}
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
		if err != nil {
			return "", nil, err
		}
		if declared(f, name) != nil {
			return path, src, nil
		}
	}
	return "", nil, fmt.Errorf("no such function: if its rule went with it, delete the mutant")
}

// declared returns the declaration of a name in a file, or nil.
func declared(f *ast.File, name string) (found ast.Node) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if receiver(d)+d.Name.Name == name {
				return d
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					if slices.ContainsFunc(s.Names, func(id *ast.Ident) bool { return id.Name == name }) {
						return s
					}
				case *ast.TypeSpec:
					if s.Name.Name == name {
						return s
					}
				}
			}
		}
	}
	return nil
}

// receiver returns the name of a method's type and a dot.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	text := oneLine(d.Recv.List[0].Type)
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "*"), "[")
	return text + "."
}

// oneLine returns the text of a node without comments on one line.
func oneLine(n ast.Node) string {
	var b bytes.Buffer
	if format.Node(&b, token.NewFileSet(), n) != nil {
		return ""
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// apply changes the source of a file.
func (o op) apply(src []byte, name string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, 0)
	if err != nil {
		return nil, err
	}
	in := declared(f, name)
	if o.kind == "text" {
		from, to := fset.Position(in.Pos()).Offset, fset.Position(in.End()).Offset
		if n := bytes.Count(src[from:to], []byte(o.at)); n != 1 {
			return nil, fmt.Errorf("it has %q %d times, not once", o.at, n)
		}
		changed := bytes.Replace(src[from:to], []byte(o.at), []byte(o.with), 1)
		return slices.Concat(src[:from], changed, src[to:]), nil
	}
	n, err := o.node(in)
	if err != nil {
		return nil, err
	}
	from, to := fset.Position(n.Pos()).Offset, fset.Position(n.End()).Offset
	text := string(src[from:to])
	switch o.kind {
	case "never":
		text = "((" + text + ") && false)"
	case "always":
		text = "((" + text + ") || true)"
	case "swap":
		text = o.with
	case "drop":
		text = ""
	case "before":
		text = o.with + "\n" + text
	case "after":
		text += "\n" + o.with
	}
	return slices.Concat(src[:from], []byte(text), src[to:]), nil
}

var nthPiece = regexp.MustCompile(`^(.*) \(([1-9][0-9]?)\)$`)

// node returns the piece of code that the op names.
func (o op) node(in ast.Node) (ast.Node, error) {
	at, nth, numbered := strings.Join(strings.Fields(o.at), " "), 1, false
	if found := nthPiece.FindStringSubmatch(at); found != nil {
		at, numbered = found[1], true
		nth, _ = strconv.Atoi(found[2])
	}
	var exact, begin []ast.Node
	ast.Inspect(in, func(n ast.Node) bool {
		if !o.takes(n) {
			return true
		}
		switch text := oneLine(n); {
		case text == at:
			exact = append(exact, n)
		case o.kind != "never" && o.kind != "always" && strings.HasPrefix(text, at):
			begin = append(begin, n)
		}
		return true
	})
	if len(exact) == 0 && len(begin) == 1 {
		exact = begin
	}
	switch {
	case len(exact) < nth:
		return nil, fmt.Errorf("it has no %q", o.at)
	case !numbered && len(exact) > 1:
		return nil, fmt.Errorf("it has %q %d times: say which, as in %q", at, len(exact), at+" (2)")
	}
	return exact[nth-1], nil
}

// takes reports whether the op can be about a node.
func (o op) takes(n ast.Node) bool {
	switch n.(type) {
	case *ast.ExprStmt: // the same text as its expression
		return o.kind == "drop" || o.kind == "before" || o.kind == "after"
	case ast.Expr:
		return o.kind == "never" || o.kind == "always" || o.kind == "swap"
	case *ast.BlockStmt:
		return false
	case ast.Stmt:
		return o.kind != "never" && o.kind != "always"
	}
	return false
}
