package main

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// pages returns the pages that people read, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir("../../docs", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && filepath.Ext(path) == ".md" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d pages, %v", len(paths), err)
	}
	out := map[string]string{}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", "llms.txt"} {
		paths = append(paths, "../../"+name)
	}
	for _, path := range paths {
		data := must(os.ReadFile(path))
		out[path] = string(data)
	}
	return out
}

var fence = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```$")

// parseYAML parses all documents of a text and returns how many there are.
// Kubernetes' own kinds need a name.
func parseYAML(text string) (n int, err error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	for ; ; n++ {
		var doc map[string]any
		err := d.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		case len(doc) == 0:
			return n, errors.New("an empty document")
		}
		if doc["apiVersion"] == nil {
			continue
		}
		meta, _ := doc["metadata"].(map[string]any)
		if doc["kind"] == nil || meta["name"] == nil {
			return n, errors.New("a manifest without kind or metadata.name")
		}
	}
}

// TestYAML parses all YAML that people are told to copy.
func TestYAML(t *testing.T) {
	n := 0
	for path, text := range pages(t) {
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			if block[1] != "yaml" {
				continue
			}
			docs, err := parseYAML(block[2])
			if err != nil || docs == 0 {
				t.Errorf("%s: %v:\n%.300s", path, err, block[2])
			}
			n += docs
		}
	}
	err := filepath.WalkDir("../../deploy", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "templates" { // of the Helm chart: make prove PART=chart renders them
			return fs.SkipDir
		}
		if e.Name() == "Chart.yaml" { // Helm's own format, which make prove PART=chart checks
			return err
		}
		if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		docs, err := parseYAML(string(data))
		if err != nil || docs == 0 {
			t.Errorf("%s: %v", path, err)
		}
		n += docs
		return nil
	})
	if err != nil || n < 10 {
		t.Errorf("only %d documents of YAML, %v", n, err)
	}
	for _, bad := range []string{"a: [", "a: 1\na: 2", "\ta: 1", "apiVersion: v1\nkind: Secret"} {
		fails(t, errOf(parseYAML(bad)), "nothing is wrong with %q", bad)
	}
}

var (
	code    = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]*`|^    [^\n]*$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchor is what a heading is called in a link, by GitHub's rule.
func anchor(heading string) string {
	return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// ours is where llms.txt finds the files of the repository.
const ours = "https://raw.githubusercontent.com/snowfence/snowfence/main/"

// TestLinks looks for what the pages link to: files, and headings of pages.
func TestLinks(t *testing.T) {
	all := pages(t)
	n := 0
	for path, text := range all {
		for _, l := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			u, err := url.Parse(strings.TrimPrefix(l[1], ours))
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			n++
			to := path
			if u.Path != "" {
				to = filepath.Join(filepath.Dir(path), u.Path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", path, l[1])
				continue
			}
			if u.Fragment == "" {
				continue
			}
			found := false
			for _, h := range heading.FindAllStringSubmatch(all[to], -1) {
				found = found || anchor(h[1]) == u.Fragment
			}
			if !found {
				t.Errorf("%s links to %s: there is no such heading", path, l[1])
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d links", n)
	}
}

// TestDocumentedOperations looks for each command of two pages in the
// scripts that run them.
func TestDocumentedOperations(t *testing.T) {
	for page, script := range map[string]string{
		"operate/operations.md": "operations.txtar", "move/past.md": "past.txtar",
	} {
		runs := must(os.ReadFile("testdata/" + script))
		n := 0
		for line := range strings.Lines(pages(t)["../../docs/"+page]) {
			command, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    snowfence ")
			// TestUsersShareTheSystemStore has that one
			if !ok || strings.Contains(line, "/var/lib/snowfence/") {
				continue
			}
			command, _, _ = strings.Cut(command, " < ")
			if n++; !strings.Contains(string(runs), " "+command+"\n") {
				t.Errorf("%s: no script runs: snowfence %s", page, command)
			}
		}
		if n < 7 {
			t.Errorf("%s: only %d commands", page, n)
		}
	}
}

// TestDocumentedFiles looks for the files of Go that the pages name. These
// two are the reader's.
func TestDocumentedFiles(t *testing.T) {
	file := regexp.MustCompile("`([a-z0-9_/]+\\.go)`")
	n := 0
	for path, text := range pages(t) {
		for _, m := range file.FindAllStringSubmatch(text, -1) {
			if m[1] == "main.go" || m[1] == "orders_test.go" {
				continue
			}
			wantErr(t, errOf(os.Stat(filepath.Join("../..", m[1]))), nil, "%s names %s, which is not there", path, m[1])
			n++
		}
	}
	if n < 20 {
		t.Errorf("only %d files", n)
	}
}

// TestDocumentedGoGet: go get of a driver's module does not load what a
// package of it needs, so the page gets each package by its path, and each
// module of ours.
func TestDocumentedGoGet(t *testing.T) {
	imported := regexp.MustCompile(`(?m)^\t(?:\w+ )?"(\w+\.[\w.]+/.*)"$`)
	n := 0
	text := pages(t)["../../docs/start/go.md"]
	for _, section := range strings.Split(text, "\n## ")[1:] {
		_, get, _ := strings.Cut(section, "\ngo get github.com/snowfence/snowfence ")
		get, _, _ = strings.Cut(get, "\n")
		for _, m := range imported.FindAllStringSubmatch(section, -1) {
			dir, ours := strings.CutPrefix(m[1], "github.com/snowfence/snowfence/")
			if _, err := os.Stat(filepath.Join("../..", dir, "go.mod")); ours && err != nil {
				continue // a package of the library
			}
			if n++; !slices.Contains(strings.Fields(get), m[1]) {
				t.Errorf("a program imports %s and gets %s:\n%s", m[1], get, section)
			}
		}
	}
	if n < 7 {
		t.Errorf("only %d imports", n)
	}
}

// TestDocumentedGo looks for each line of Go on the pages among the lines
// that are compiled. What begins with a package clause is a program, which
// test/server/program builds, as all of docs/start/go.md.
func TestDocumentedGo(t *testing.T) {
	compiled := map[string]bool{}
	noError(t, filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules") {
			return fs.SkipDir
		}
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		for line := range strings.Lines(string(data)) {
			compiled[strings.TrimSpace(line)] = true
		}
		return err
	}))
	all := pages(t)
	n := 0
	for _, programs := range []bool{true, false} {
		for path, text := range all {
			for _, block := range fence.FindAllStringSubmatch(text, -1) {
				program := strings.HasPrefix(block[2], "package ") || path == "../../docs/start/go.md"
				if block[1] != "go" || program != programs {
					continue
				}
				for line := range strings.Lines(block[2]) {
					line = strings.TrimSpace(line)
					if n++; programs {
						compiled[line] = true
					} else if !compiled[line] {
						t.Errorf("%s: nothing compiles: %s", path, line)
					}
				}
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d lines of Go", n)
	}
}
