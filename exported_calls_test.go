package snowfence_test

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// swappable are calls that may take two parameters of one kind, and why.
var swappable = map[string]string{
	"Scheme.Range":       "a time before another one is an error",
	"Dated.Reserve":      "a usual count is no date, and that is an error",
	"Fence.SequencePart": "a last number below the first one is an error",
	"Sonyflake.Compose":  "sony/sonyflake/v2 has the same parameters",
	"Compose":            "sony/sonyflake has the same parameters",

	// Layers have the parameters of the library whose API they are.
	"NewGenerator":          "gosuda.org/randflake",
	"Generator.UpdateLease": "gosuda.org/randflake",
}

// A call with two numbers, two booleans or two times compiles when they are swapped.
func TestNoCallHasParametersThatCanBeSwapped(t *testing.T) {
	checkCalls(t, func(name string, params []string) string {
		seen := map[string]bool{}
		for _, typ := range params {
			switch kind := strings.TrimRight(typ, "12346"); {
			case kind == "bool", kind == "int", kind == "uint", typ == "time.Time", typ == "time.Duration":
				if seen[kind] && swappable[name] == "" {
					return "two parameters are of type " + typ + ": give them a struct or types of their own"
				}
				seen[kind] = true
			}
		}
		return ""
	})
}

// Options are a pointer and the last parameter, so that nil always means the defaults.
func TestOptionsAreAPointerAndLast(t *testing.T) {
	checkCalls(t, func(_ string, params []string) string {
		for i, typ := range params {
			if strings.HasSuffix(typ, "Options") && (typ[0] != '*' || i != len(params)-1) {
				return "make " + typ + " a pointer, and the last parameter"
			}
		}
		return ""
	})
}

// checkCalls calls fault with every exported function and method, and the types of its
// parameters.
func checkCalls(t *testing.T, fault func(name string, params []string) string) {
	t.Helper()
	calls := 0
	check := func(pkg, name string, f *ast.FuncType) {
		calls++
		var params []string
		for _, field := range f.Params.List {
			for range max(1, len(field.Names)) {
				params = append(params, types.ExprString(field.Type))
			}
		}
		if m := fault(name, params); m != "" {
			t.Errorf("package %s: %s: %s", pkg, name, m)
		}
	}
	for _, f := range publicFiles(t) {
		ast.Inspect(f.file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.FuncDecl:
				name := x.Name.Name
				if x.Recv != nil {
					name = typeName(x.Recv.List[0].Type) + "." + name
				}
				if ast.IsExported(name) && x.Name.IsExported() {
					check(f.pkg, name, x.Type)
				}
				return false
			case *ast.TypeSpec:
				for _, member := range members(x.Type) {
					if call, ok := member.Type.(*ast.FuncType); ok && x.Name.IsExported() {
						check(f.pkg, x.Name.Name, call)
					}
				}
			}
			return true
		})
	}
	if calls < 200 {
		t.Errorf("found only %d calls", calls)
	}
}
