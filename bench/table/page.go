package main

import (
	_ "embed"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"
)

var (
	//go:embed page.md.tmpl
	pageSource string
	//go:embed languages.md.tmpl
	languagesSource string

	pageText = template.Must(template.New("page").Parse(pageSource))

	// languagesText is a part that can be made alone, too.
	languagesText = template.Must(template.New("languages").Parse(languagesSource))
)

func page(r *results, table, served, holders, sequences, layers, languages string) (string, error) {
	modules, err := versions()
	if err != nil {
		return "", err
	}
	system, err := output("uname", "-srm")
	if err != nil {
		return "", err
	}
	idle, err := r.idle()
	if err != nil {
		return "", err
	}
	var part, b strings.Builder
	if err := languagesText.Execute(&part, languages); err != nil {
		return "", err
	}
	err = pageText.Execute(&b, map[string]any{
		"CPU": r.cpu, "Cores": runtime.NumCPU(), "System": system, "Go": runtime.Version(),
		"Date": time.Now().UTC().Format(time.DateOnly), "Rounds": r.rounds, "Idle": idle, "Table": table,
		"Served": served, "Holders": holders, "Sequences": sequences, "Layers": layers,
		"Languages": part.String(), "Modules": modules,
	})
	return b.String(), err
}

// versions asks the go command which versions were measured.
func versions() ([]string, error) {
	args := []string{"list", "-m"}
	for _, w := range rows {
		if w.module != "" {
			args = append(args, w.module)
		}
	}
	s, err := output("go", args...)
	if err != nil {
		return nil, err
	}
	return slices.Compact(strings.Split(s, "\n")), nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
