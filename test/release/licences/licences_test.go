package licences

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const repository = "../../.."

// A changed dependency of the program needs new notices. This compares names and
// versions alone, because go list takes seconds; make reproduce compares the whole file.
func TestNoticesNameTheDependencies(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, File))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), strings.Repeat("-", 80))
	linked, others, found := strings.Cut(head, notLinked)
	if !found {
		t.Fatalf("%s does not say which modules are not linked", File)
	}
	named := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\S+\.\S+/\S+) (v\S+): \S`).FindAllStringSubmatch(linked, -1) {
		named[m[1]] = m[2]
	}
	required, err := Required(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(others) {
		named[path] = required[path]
	}
	for _, path := range slices.Sorted(maps.Keys(required)) {
		if named[path] != required[path] {
			t.Errorf("%s has %q of %s, cmd/go.mod %q: run make gen", File, named[path], path, required[path])
		}
		delete(named, path)
	}
	for path := range named {
		t.Errorf("%s names %s, which cmd/go.mod does not require: run make gen", File, path)
	}
	bundled, err := Bundled(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range bundled {
		if !strings.Contains(head, "\n"+m.Path+" "+m.Version+": ") {
			t.Errorf("%s does not name %s %s: run make gen", File, m.Path, m.Version)
		}
	}
}

// A folder of a module may have a licence of its own. Code and pictures may have such a name, too.
func TestFindLooksBesideThePackages(t *testing.T) {
	const (
		mit = "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this software and so on"
		bsd = "> 2. Redistributions in binary form must reproduce\n> the above copyright notice, and so on"
	)
	dir := t.TempDir()
	for name, body := range map[string]string{
		"LICENSE": mit, "NOTICE.txt": "made by us\r\n", "license.go": "package x", "LICENSE-LOGO": "a picture",
		"a/COPYING": bsd, "a/b/b.go": "package b", "c/LICENSE": "not linked",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	texts, err := Find(dir, []string{"", "a/b"})
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, text := range texts {
		files = append(files, text.File)
	}
	if want := []string{"LICENSE", "NOTICE.txt", "a/COPYING"}; !slices.Equal(files, want) {
		t.Errorf("found %v, want %v", files, want)
	}
	if got := (Module{Texts: texts}).ID(); got != "BSD-2-Clause AND MIT" {
		t.Errorf("the licences are %q", got)
	}
	if _, err := Find(dir, []string{"c"}); err == nil {
		t.Error("a licence that nobody knows is not refused")
	}
	if _, err := Find(filepath.Join(dir, "a", "b"), nil); err == nil {
		t.Error("a module without a licence is not refused")
	}
}
