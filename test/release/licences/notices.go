package licences

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// page is the dashboard's file of the licences of its bundled parts.
const page = "cmd/internal/dashboard/web/dist/licenses.md"

const intro = `Third-party notices of Snowfence

The program snowfence contains the works below, and the C library some of them. Their authors ask everybody who passes
them on to pass on these texts, too. Which works a binary contains: go version -m FILE.

Made by make release from the module cache.

`

// Notices returns the notices of a program that has these modules of
// others, and of the bundled parts in dir.
func Notices(dir string, modules []Module) (string, error) {
	bundled, err := Bundled(dir)
	if err != nil {
		return "", err
	}
	golang, err := standardLibrary()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(intro)
	sourceOf := ""
	for _, m := range modules {
		fmt.Fprintf(&b, "%s %s: %s\n", m.Path, m.Version, m.ID())
		if strings.Contains(m.ID(), "MPL-2.0") {
			const format = "The source of %s, unchanged: https://proxy.golang.org/%[1]s/@v/%s.zip\n"
			sourceOf += fmt.Sprintf(format, m.Path, m.Version)
		}
	}
	others := append([]Module{golang}, bundled...)
	for _, m := range others {
		fmt.Fprintf(&b, "%s: %s\n", strings.TrimSpace(m.Path+" "+m.Version), m.ID())
	}
	b.WriteString("\n" + sourceOf)
	writeTexts(&b, slices.Concat(modules, others))
	return b.String(), nil
}

// writeTexts writes each text once, below the names of all its modules.
func writeTexts(b *strings.Builder, modules []Module) {
	owners := map[string][]string{}
	var bodies []string
	for _, m := range modules {
		for _, t := range m.Texts {
			if owners[t.Body] == nil {
				bodies = append(bodies, t.Body)
			}
			owners[t.Body] = append(owners[t.Body], strings.TrimSpace(m.Path+" "+m.Version)+", "+t.File)
		}
	}
	for _, body := range bodies {
		fmt.Fprintf(b, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), strings.Join(owners[body], "\n"), body)
	}
}

// heading is the heading of a package in the list that Vite writes.
var heading = regexp.MustCompile(`(?m)^## (\S+) - (\S+) \(.*\)\n`)

// Bundled returns the works in the page of the dashboard.
func Bundled(dir string) ([]Module, error) {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(page)))
	if err != nil {
		return nil, err
	}
	var modules []Module
	at := heading.FindAllStringSubmatchIndex(string(text), -1)
	for i, h := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		body := plain(text[h[1]:end])
		m := Module{Path: "npm " + string(text[h[2]:h[3]]), Version: string(text[h[4]:h[5]])}
		m.Texts = []Text{{File: "LICENSE", Body: body, IDs: identify(body)}}
		if m.ID() == "" {
			return nil, unknown(page + ": " + m.Path)
		}
		modules = append(modules, m)
	}
	if len(modules) == 0 {
		return nil, fmt.Errorf("%s names no package: run make gen", page)
	}
	return modules, nil
}

func standardLibrary() (Module, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return Module{}, err
	}
	texts, err := Find(strings.TrimSpace(string(root)), nil)
	return Module{Path: "Go, its standard library and runtime", Texts: texts}, err
}
