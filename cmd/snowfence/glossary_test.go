package main

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

// ban is a phrase, and what to say instead.
type ban struct {
	phrase  *regexp.Regexp
	instead string
}

// banned are phrases that the pages, the comments and the messages do not use.
var banned = []ban{
	{regexp.MustCompile(`(?i)\bset[ -]backs?\b`), "rolled back, a rollback (restored, if it is a node)"},
	{regexp.MustCompile(`(?i)\b(is|are) to be\b`), "must be, or who does it"},
	{regexp.MustCompile(`(?i), since [^v0-9=]`), "because"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be) away\b`), "unreachable"},
	{regexp.MustCompile(`(?i)\bsaid (so )?in the log\b`), "logged"},
	{regexp.MustCompile(`(^|[.:;!] )[Ww]ho (has|had|gave|lost|takes|renews|met|acquires|leases)\b`), "the holder, or a program that"},
	{regexp.MustCompile(`(?i)\b(worker|machine) lease\b`), "lease of a node"},
	{regexp.MustCompile(`(?i)\b(sets?|put) (it|the (store|data|node)) back\b`), "roll back, or restore a node"},
	{regexp.MustCompile(`(?i)\b(stores?|files?|namespaces?) (that )?(went|goes?|going|(had|has) gone) back\b`), "was rolled back"},
	{regexp.MustCompile(`(?i)\bseldom\b`), "rarely"},
}

// bannedOnPages are phrases that only the pages do not use.
var bannedOnPages = []ban{
	{regexp.MustCompile(`(?i)\bputs? back\b`), "restored"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were) said\b`), "who says it"},
	{regexp.MustCompile(`(?i)\bhears? of\b`), "notices, or is told"},
	{regexp.MustCompile(`(?i)\bhands? (on|out)\b|\bhanded (on|out)\b`), "passes on, gives, assigns"},
	{regexp.MustCompile(`(?i)\banew\b`), "again, or new"},
	{regexp.MustCompile(`(?i)\baloud\b`), "reported, documented"},
	{regexp.MustCompile(`(?i)\brides? out\b`), "survives"},
	{regexp.MustCompile(`(?i)\bfence (it|the old|the first|one) `), "stop: a fence is where a generator gets its grants"},
	{regexp.MustCompile(`(?i)\bof (its|their) own accord\b`), "by itself"},
	{regexp.MustCompile(`(?i)\bwhen its time comes\b`), "later"},
}

// allowed are texts, by the end of a path, that have such a phrase and may.
var allowed = map[string][]string{
	"lease/store/storetest/storetest.go": {`"store set back`, `"set back, deleted`}, // names of scenes, by which people run them
}

// phrases returns what is wrong in a text, where whitespace counts as one space.
func phrases(banned []ban, path, text string) (out []string) {
	for end, texts := range allowed {
		if strings.HasSuffix(path, end) {
			for _, s := range texts {
				text = strings.ReplaceAll(text, s, "")
			}
		}
	}
	for _, b := range banned {
		for _, at := range b.phrase.FindAllStringIndex(text, -1) {
			around := text[max(0, at[0]-40):min(len(text), at[1]+40)]
			out = append(out, path+": write "+b.instead+" in: …"+strings.ToValidUTF8(around, "")+"…")
		}
	}
	return out
}

// TestGlossary looks for phrases that docs/concepts.md has other words for.
func TestGlossary(t *testing.T) {
	texts := told(t)
	for _, pattern := range []string{"../../*.go", "../../nodes/*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%d files are %s, %v", len(paths), pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(path, "_test.go") {
				texts[path] = joined(string(data))
			}
		}
	}
	for name, text := range allManPages(t) {
		texts[name] = joined(text)
	}
	for path, text := range texts {
		for _, p := range phrases(banned, path, text) {
			t.Error(p)
		}
	}
	for path, text := range pages(t) {
		for _, p := range phrases(bannedOnPages, path, joined(text)) {
			t.Error(p)
		}
	}
	for text, want := range map[string]int{
		"A store that was set back is noticed.":               1,
		"the floor after a set-back":                          1,
		"IDs are to be made from now on, since nobody waits.": 2,
		"It is refused. Who has the node goes on.":            1,
		"the error says who has the nodes":                    0,
		"It exists, since v0.2 under this name":               0,
		"resets backwards, and since then it is right":        0,
	} {
		if got := phrases(banned, "x.go", text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}

// vague are words in place of the one who acts: the process, the operator, the server, the store.
var vague = regexp.MustCompile(`(?i)\b(somebody|nobody|whoever|that of|those of|who has|is to be|said in the log)\b`)

// TestGlossaryOfComments looks for the same phrases in the comments of all other files, of tests
// too. It counts vague words there, in texts of the program and on pages: one in 1,000 lines.
func TestGlossaryOfComments(t *testing.T) {
	n, lines := 0, 0
	var hidden []string
	count := func(path, text string) {
		lines += strings.Count(text, "\n") + 1
		text = strings.ReplaceAll(joined(text), "nobody-else", "") // a flag
		for _, at := range vague.FindAllStringIndex(text, -1) {
			around := text[max(0, at[0]-40):min(len(text), at[1]+20)]
			hidden = append(hidden, path+": …"+strings.ToValidUTF8(around, "")+"…")
		}
	}
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules" || e.Name() == "testdata") {
			return fs.SkipDir
		}
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			n++
			count(path, group.Text())
			for _, p := range phrases(banned, path, joined(group.Text())) {
				t.Error(p)
			}
		}
		if !strings.HasSuffix(path, "_test.go") {
			ast.Inspect(file, func(node ast.Node) bool {
				if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING {
					count(path, text.Value)
				}
				return true
			})
		}
		return nil
	})
	if err != nil || n < 5000 {
		t.Errorf("only %d comments, %v", n, err)
	}
	for path, text := range pages(t) {
		count(path, text)
	}
	if len(hidden)*1000 > lines {
		t.Errorf("%d vague words in %d lines: name the one who acts\n%s", len(hidden), lines,
			strings.Join(hidden, "\n"))
	}
	t.Logf("%d vague words in %d lines", len(hidden), lines)
}
