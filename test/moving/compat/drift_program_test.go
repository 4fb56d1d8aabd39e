package compat

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// driftRegistrar stands for the part of the original's program that asks
// Redis for workers.
const driftRegistrar = `package main

import "C"

func RegisterOne(_, _ *C.char, _ int, _ *C.char, _, _, _ int32) int32 { panic("not called") }

func RegisterMany(_, _ *C.char, _ int, _ *C.char, _, _, _, _ int32) []int32 { panic("not called") }
`

// TestDriftProgramOfTheOriginal runs the one program that comes with the
// original, which has no tests, with the import path changed: ten times
// 500,000 IDs. Its pause of a second between them is a millisecond here.
func TestDriftProgramOfTheOriginal(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yitter/idgenerator-go").Output()
	must(t, err)
	code, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "main.go"))
	must(t, err)
	text := string(code)
	for _, change := range [][2]string{
		{`"github.com/yitter/idgenerator-go/idgen"`, `"github.com/snowfence/snowfence/compat/idgen"`},
		{"time.Sleep(time.Duration(1000) * time.Millisecond)", "time.Sleep(time.Millisecond)"},
	} {
		if strings.Count(text, change[0]) != 1 {
			t.Fatalf("the program has %q %d times", change[0], strings.Count(text, change[0]))
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	folder, registrar := t.TempDir(), driftRegistrar
	run := exec.Command("go", "run")
	for name, text := range map[string]*string{"main.go": &text, "registrar.go": &registrar} {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, []byte(*text), 0o600))
		run.Args = append(run.Args, path)
	}
	run.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := run.CombinedOutput()
	if err != nil || strings.Count(string(out), " ms\n") != 10 {
		t.Errorf("%v\n%s", err, out)
	}
}
