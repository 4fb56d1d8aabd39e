// Package hints keeps the list of what errors tell people to do, and of the tests that do it.
package hints

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// product are the folders whose texts people meet.
var product = []string{".", "nodes", "lease", "sqlstore", "etcdstore", "kubestore", "redisstore", "remote", "cmd"}

// others are folders in them whose texts are for developers.
var others = []string{"storetest", "rig", "libsnowfence"}

// told finds texts that tell the user to run a command or a statement, or to call or set
// something in Go.
var told = regexp.MustCompile(`snowfence (new|namespace|lease|serve|token|secret|plan|audit|help|decode) |` +
	`\b(GRANT|ALTER TABLE|SET GLOBAL|SREM|SELECT IS_USED_LOCK|etcdctl|redis-cli|fuser|chgrp|chmod)\b|` +
	`\b(lease|store|snowfence|sqlstore|Options|SourceOptions|Config)\.[A-Z][A-Za-z]+|\bSet[A-Z][A-Za-z]+\b|(: |, |or )(use|see|set|give|add|leave|take|read|call) (a |the )?--?[a-z]`)

// set finds advice about settings in the texts of stores.
var set = regexp.MustCompile(`(: |, |; |, and |: then )(set|raise|open the file with) |make room|SET GLOBAL `)

// stores are the folders of stores.
var stores = regexp.MustCompile(`(sqlstore|etcdstore|kubestore|redisstore)/[a-z_]+\.go$`)

// statement is SQL that the product runs itself.
var statement = regexp.MustCompile(`^(SELECT|ALTER TABLE|GRANT) [^:]*`)

// constant returns the text of a literal, or of literals that are joined.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, ok := constant(e.X)
		b, ok2 := constant(e.Y)
		return a + b, ok && ok2 && e.Op == token.ADD
	}
	return "", false
}

// hints returns the hints of a file.
func hints(t *testing.T, path string) (found []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	add := func(e ast.Expr) bool {
		text, ok := constant(e)
		about := told.MatchString(text) && !statement.MatchString(text) ||
			stores.MatchString(filepath.ToSlash(path)) && set.MatchString(text)
		if ok && about && !slices.Contains(found, text) {
			found = append(found, text)
		}
		return !ok
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok &&
				slices.Contains([]string{"Long", "Example", "Short", "Use"}, key.Name) {
				return false // help
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(sel.Sel.Name, "Var") || ok &&
				strings.HasSuffix(sel.Sel.Name, "VarP") {
				return false // the help of a flag
			}
		case ast.Expr:
			return add(n)
		}
		return true
	})
	return found
}

// TestList compares the hints in the sources with the list: a new one needs a test that
// provokes the error, does what it says, and sees that it works.
func TestList(t *testing.T) {
	data, err := os.ReadFile("hints.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, "\t")
		if len(parts) != 3 {
			t.Fatalf("hints.txt: %q has not three parts: file, text, where it is walked", line)
		}
		listed[parts[0]+"\t"+parts[1]] = parts[2]
	}
	for key, where := range listed {
		if file, test, ok := strings.Cut(where, " "); ok {
			source, err := os.ReadFile(filepath.Join(root, file))
			if err != nil || !strings.Contains(string(source), "func "+test+"(") && filepath.Ext(file) != ".txtar" {
				t.Errorf("%s is walked by %s, where it is not: %v", key, where, err)
			}
		} else if where != "value" {
			t.Errorf("%s: %q is no place", key, where)
		}
	}
	for _, dir := range product {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() && path != filepath.Join(root, dir) && (dir == "." || slices.Contains(others, e.Name())) {
				return fs.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			for _, h := range hints(t, path) {
				key := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash(root)+string(filepath.Separator))) +
					"\t" + strconv.Quote(h)
				if listed[key] == "" {
					t.Errorf("no test is named for this hint: add to lab/hints/hints.txt\n%s\tFILE TestThatDoesIt",
						key)
				}
				delete(listed, key)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for key := range listed {
		t.Errorf("hints.txt: no source has this any more:\n%s", key)
	}
}
