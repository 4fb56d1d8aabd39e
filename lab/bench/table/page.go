package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"
)

//go:embed page.md.tmpl
var pageSource string

// page is the whole page: its tables, and the places of the measurements.
func page(ids figures, tables map[string]any) (string, error) {
	modules, err := versions()
	if err != nil {
		return "", err
	}
	system, err := output("uname", "-srm")
	if err != nil {
		return "", err
	}
	cpu, err := output("sed", "-n", `s/^model name\s*: //p;T;q`, "/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	maps.Copy(tables, map[string]any{
		"CPU": cpu, "Cores": runtime.NumCPU(), "System": system, "Go": runtime.Version(),
		"Date": time.Now().UTC().Format(time.DateOnly), "Rounds": len(ids["id/since/1"]), "Idle": idle(ids),
		"Modules": modules,
	})
	text, err := template.New("page").Parse(pageSource)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = text.Execute(&b, tables)
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
