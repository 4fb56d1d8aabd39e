package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/snowfence/snowfence/test/release/licences"
)

// commonFiles returns the licences, the man pages and the completions.
func (b *build) commonFiles(m *maker) ([]entry, error) {
	notices, err := licences.Notices(b.root, b.linkedModules)
	if err != nil {
		return nil, err
	}
	all := []entry{{name: "THIRD-PARTY-NOTICES.txt", body: []byte(notices)}}
	for _, name := range []string{"LICENSE", "NOTICE", "CHANGELOG.md"} {
		body, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{name: name, body: body})
	}
	pages, err := manPages()
	if err != nil {
		return nil, err
	}
	all = append(all, pages...)
	if _, err := m.buildProgram(runtime.GOOS, runtime.GOARCH); err != nil { // it prints the completions
		return nil, err
	}
	for shell, file := range map[string]string{
		"bash": "snowfence.bash", "zsh": "_snowfence", "fish": "snowfence.fish", "powershell": "snowfence.ps1",
	} {
		text, err := exec.Command(m.programPath(runtime.GOOS, runtime.GOARCH), "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completions for %s: %w", shell, err)
		}
		all = append(all, entry{name: "completions/" + file, body: text})
	}
	return all, nil
}

// manPages has the tests of the program write its man pages.
func manPages() (all []entry, err error) {
	dir, err := os.MkdirTemp("", "man")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	write := exec.Command("go", "test", "./cmd/snowfence", "-run", "^TestManPages$", "-count=1", "-man", dir)
	if out, err := write.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("man pages: %w\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("no man pages were made: %v", err)
	}
	for _, page := range pages {
		body, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{name: "man/" + filepath.Base(page), body: body})
	}
	return all, nil
}
