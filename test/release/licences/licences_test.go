package licences

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

var must = tests.NoError

const repository = "../../.."

// Notices name what is linked into the program, and what the dashboard
// bundles.
func TestNoticesNameTheDependencies(t *testing.T) {
	modules, err := Linked(filepath.Join(repository, "cmd"), os.Environ(), "./snowfence")
	must(t, err)
	bundled, err := Bundled(repository)
	must(t, err)
	text, err := Notices(repository, modules)
	if err != nil || len(modules) < 20 {
		t.Fatalf("%d modules, %v", len(modules), err)
	}
	head, _, _ := strings.Cut(text, strings.Repeat("-", 80))
	for _, m := range append(modules, bundled...) {
		if !strings.Contains(head, "\n"+m.Path+" "+m.Version) {
			t.Errorf("the notices do not name %s", m.Path)
		}
	}
}

// A folder of a module may have a licence of its own. Code and pictures may
// have such a name, too.
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
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644))
	}
	texts, err := Find(dir, []string{"", "a/b"})
	must(t, err)
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
	tests.Fails(t, tests.ErrOf(Find(dir, []string{"c"})), "an unknown licence is not refused")
	tests.Fails(t, tests.ErrOf(Find(filepath.Join(dir, "a", "b"), nil)), "a module without a licence is not refused")
}
