package terms

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.IfStmt:
		f.guard(n)
	case *ast.SwitchStmt:
		f.cases(n)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.CallExpr:
		if f.tells(n) {
			return false
		}
		f.extremum(n)
	case *ast.BlockStmt:
		f.counts(n.List)
	case *ast.CaseClause:
		f.counts(n.Body)
	}
	return true
}

// guard drops an if that leaves.
func (f *finder) guard(n *ast.IfStmt) {
	if n.Else != nil || len(n.Body.List) == 0 {
		return
	}
	switch n.Body.List[len(n.Body.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		what := "not looked at"
		if n.Init != nil {
			what += ", after " + f.text(n.Init)
		}
		f.lone[n.Cond] = true
		id := f.add(n, n.Cond, what)
		f.wrap(n.Cond, fmt.Sprintf("!mutantOn(%d) && (", id), ")")
	}
}

// cases drops each condition of a switch without a value.
func (f *finder) cases(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, c := range n.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			id := f.add(e, e, "no such case")
			f.wrap(e, fmt.Sprintf("!mutantOn(%d) && (", id), ")")
		}
	}
}

// counts drops what only counts.
func (f *finder) counts(list []ast.Stmt) {
	for _, s := range list {
		if s, ok := s.(*ast.IncDecStmt); ok {
			id := f.add(s, s, "not counted")
			f.put(s.Pos(), 0, false, "if !mutantOn(%d) { ", id)
			f.put(s.End(), 0, true, " }")
		}
	}
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.p.info.Types[n].Value != nil {
		return
	}
	switch n.Op {
	case token.LAND, token.LOR:
		for _, e := range []ast.Expr{n.X, n.Y} {
			if in, ok := e.(*ast.BinaryExpr); ok && in.Op == n.Op {
				continue // its own operands are dropped
			}
			id := f.add(e, e, "dropped from "+n.Op.String())
			if n.Op == token.LAND {
				f.wrap(e, fmt.Sprintf("(mutantOn(%d) || ", id), ")")
			} else {
				f.wrap(e, fmt.Sprintf("(!mutantOn(%d) && ", id), ")")
			}
		}
	case token.EQL, token.NEQ:
		if f.lone[n] && f.p.info.Types[n.Y].IsNil() {
			return // a check of an error that is dropped as a whole
		}
		id := f.add(n, n, "negated")
		f.wrap(n, fmt.Sprintf("mutantNot(%d, ", id), ")")
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		shift := f.add(n, n, "one off")
		f.add(n, n, "negated")
		f.wrap(n, fmt.Sprintf("mutantOrder(%d, %q, ", shift, n.Op), ")")
		f.put(n.OpPos, len(n.Op.String()), false, ",")
	case token.ADD, token.SUB:
		t, ok := f.p.info.TypeOf(n).Underlying().(*types.Basic)
		if !ok || t.Info()&types.IsInteger == 0 {
			return
		}
		id := f.add(n, n, "without "+n.Op.String()+" "+f.text(n.Y))
		f.wrap(n, fmt.Sprintf("mutantSum%s(%d, %q, ", f.instance(n), id, n.Op), ")")
		f.put(n.OpPos, 1, false, ",")
	}
}

// extremum drops each argument of max and min.
func (f *finder) extremum(n *ast.CallExpr) {
	name, ok := n.Fun.(*ast.Ident)
	if !ok || len(n.Args) < 2 || f.p.info.Types[n].Value != nil {
		return
	}
	if _, ok := f.p.info.Uses[name].(*types.Builtin); !ok || name.Name != "max" && name.Name != "min" {
		return
	}
	first := 0
	for _, a := range n.Args {
		id := f.add(a, n, "without "+f.text(a))
		if first == 0 {
			first = id
		}
	}
	f.put(n.Lparen, 1, false, "%s(%d, ", f.instance(n), first)
	f.put(name.Pos(), len(name.Name), false, "mutant%s", map[string]string{"max": "Max", "min": "Min"}[name.Name])
}

// tells reports whether a call only makes a text for people.
func (f *finder) tells(n *ast.CallExpr) bool {
	switch name := f.text(n.Fun); {
	case name == "errors.New", name == "fmt.Errorf", name == "invalidf", name == "refusedf", name == "refuse",
		name == "fail":
		return true
	default:
		return strings.Contains(name, "Logger.")
	}
}

// instance names the type of an expression where a constant alone would not show it.
func (f *finder) instance(e ast.Expr) string {
	if t, ok := f.p.info.TypeOf(e).(*types.Basic); ok && t.Info()&types.IsUntyped == 0 {
		return "[" + t.Name() + "]"
	}
	return ""
}
