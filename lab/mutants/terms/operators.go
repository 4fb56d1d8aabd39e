package terms

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

func (f *finder) visitNode(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.IfStmt:
		f.dropGuard(n)
	case *ast.SwitchStmt:
		f.dropCases(n)
	case *ast.BinaryExpr:
		f.dropOperands(n)
	case *ast.CallExpr:
		if f.onlyMakesText(n) {
			return false
		}
		f.dropArguments(n)
	case *ast.BlockStmt:
		f.dropCounts(n.List)
	case *ast.CaseClause:
		f.dropCounts(n.Body)
	}
	return true
}

// dropGuard drops an if that leaves, and any other that has no term in its
// condition.
func (f *finder) dropGuard(n *ast.IfStmt) {
	leaves := false
	if last := len(n.Body.List) - 1; n.Else == nil && last >= 0 {
		switch n.Body.List[last].(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			leaves = true
		}
	}
	if _, terms := n.Cond.(*ast.BinaryExpr); terms && !leaves {
		return
	}
	what := "not looked at"
	if n.Init != nil {
		what += ", after " + f.sourceOf(n.Init)
	}
	f.lone[n.Cond] = true
	id := f.addMutant(n, n.Cond, what)
	if leaves {
		f.wrapNode(n.Cond, fmt.Sprintf("!mutantOn(%d) && (", id), ")")
		return
	}
	always := f.addMutant(n, n.Cond, "always")
	f.wrapNode(n.Cond, fmt.Sprintf("!mutantOn(%d) && (mutantOn(%d) || ", id, always), ")")
}

// dropCases drops each condition of a switch without a value.
func (f *finder) dropCases(n *ast.SwitchStmt) {
	if n.Tag != nil {
		return
	}
	for _, c := range n.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			id := f.addMutant(e, e, "no such case")
			f.wrapNode(e, fmt.Sprintf("!mutantOn(%d) && (", id), ")")
		}
	}
}

// dropCounts drops what only counts.
func (f *finder) dropCounts(list []ast.Stmt) {
	for _, s := range list {
		if s, ok := s.(*ast.IncDecStmt); ok {
			id := f.addMutant(s, s, "not counted")
			f.addEdit(s.Pos(), 0, false, "if !mutantOn(%d) { ", id)
			f.addEdit(s.End(), 0, true, " }")
		}
	}
}

func (f *finder) dropOperands(n *ast.BinaryExpr) {
	if f.p.info.Types[n].Value != nil {
		return
	}
	switch n.Op {
	case token.LAND, token.LOR:
		for _, e := range []ast.Expr{n.X, n.Y} {
			if in, ok := e.(*ast.BinaryExpr); ok && in.Op == n.Op {
				continue // its own operands are dropped
			}
			id := f.addMutant(e, e, "dropped from "+n.Op.String())
			if n.Op == token.LAND {
				f.wrapNode(e, fmt.Sprintf("(mutantOn(%d) || ", id), ")")
			} else {
				f.wrapNode(e, fmt.Sprintf("(!mutantOn(%d) && ", id), ")")
			}
		}
	case token.EQL, token.NEQ:
		if f.lone[n] && f.p.info.Types[n.Y].IsNil() {
			return // a check of an error that is dropped as a whole
		}
		id := f.addMutant(n, n, "negated")
		f.wrapNode(n, fmt.Sprintf("mutantNot(%d, ", id), ")")
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		shift := f.addMutant(n, n, "one off")
		f.addMutant(n, n, "negated")
		f.wrapNode(n, fmt.Sprintf("mutantOrder(%d, %q, ", shift, n.Op), ")")
		f.addEdit(n.OpPos, len(n.Op.String()), false, ",")
	case token.ADD, token.SUB:
		t, ok := f.p.info.TypeOf(n).Underlying().(*types.Basic)
		if !ok || t.Info()&types.IsInteger == 0 {
			return
		}
		id := f.addMutant(n, n, "without "+n.Op.String()+" "+f.sourceOf(n.Y))
		f.wrapNode(n, fmt.Sprintf("mutantSum%s(%d, %q, ", f.typeText(n), id, n.Op), ")")
		f.addEdit(n.OpPos, 1, false, ",")
	}
}

// dropArguments drops each argument of max and min.
func (f *finder) dropArguments(n *ast.CallExpr) {
	name, ok := n.Fun.(*ast.Ident)
	if !ok || len(n.Args) < 2 || f.p.info.Types[n].Value != nil {
		return
	}
	if _, ok := f.p.info.Uses[name].(*types.Builtin); !ok || name.Name != "max" && name.Name != "min" {
		return
	}
	first := 0
	for _, a := range n.Args {
		id := f.addMutant(a, n, "without "+f.sourceOf(a))
		if first == 0 {
			first = id
		}
	}
	f.addEdit(n.Lparen, 1, false, "%s(%d, ", f.typeText(n), first)
	f.addEdit(name.Pos(), len(name.Name), false, "mutant%s", map[string]string{"max": "Max", "min": "Min"}[name.Name])
}

// onlyMakesText reports whether a call only makes a text for people.
func (f *finder) onlyMakesText(n *ast.CallExpr) bool {
	switch name := f.sourceOf(n.Fun); {
	case name == "errors.New", name == "fmt.Errorf", name == "fault.Invalidf", name == "fault.Refusedf",
		name == "layoutErrorf", name == "refuse", name == "fail":
		return true
	default:
		return strings.Contains(name, "Logger.")
	}
}

// typeText names the type of an expression where a constant alone would not
// show it.
func (f *finder) typeText(e ast.Expr) string {
	switch t := f.p.info.TypeOf(e).(type) {
	case *types.Basic:
		if t.Info()&types.IsUntyped == 0 {
			return "[" + t.Name() + "]"
		}
	case *types.Named:
		if t.Obj().Pkg() == f.p.own {
			return "[" + t.Obj().Name() + "]"
		}
	}
	return ""
}
