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
	notices, err := licences.Notices(".")
	if err != nil {
		return nil, err
	}
	committed, err := os.ReadFile(filepath.FromSlash(licences.File))
	if err != nil {
		return nil, err
	}
	if string(committed) != notices {
		return nil, fmt.Errorf("%s is out of date: run make gen", licences.File)
	}
	all := []entry{{name: "THIRD-PARTY-NOTICES.txt", body: committed}}
	for _, name := range []string{"LICENSE", "NOTICE", "CHANGELOG.md"} {
		body, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{name: name, body: body})
	}
	pages, err := filepath.Glob("docs/man/*.1")
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("docs/man has no pages: %v", err)
	}
	for _, page := range pages {
		body, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{name: "man/" + filepath.Base(page), body: body})
	}
	if _, err := m.program(runtime.GOOS, runtime.GOARCH); err != nil { // it prints the completions
		return nil, err
	}
	for shell, file := range map[string]string{
		"bash": "snowfence.bash", "zsh": "_snowfence", "fish": "snowfence.fish", "powershell": "snowfence.ps1",
	} {
		text, err := exec.Command(m.file(runtime.GOOS, runtime.GOARCH), "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completions for %s: %w", shell, err)
		}
		all = append(all, entry{name: "completions/" + file, body: text})
	}
	return all, nil
}
