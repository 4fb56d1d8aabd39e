package compat

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// follow does what a page of docs/move says first: it changes the import
// path of a program, in every row of the page's first table that the
// program has, and runs it.
func follow(t *testing.T, page, program string) (printed string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/move/" + page)
	must(t, err)
	changed := 0
	rows := regexp.MustCompile("(?m)^\\| `(\\S+)` \\| `(\\S+)` \\|$")
	for _, row := range rows.FindAllStringSubmatch(string(text), -1) {
		if before := `"` + row[1] + `"`; strings.Contains(program, before) {
			program = strings.ReplaceAll(program, before, `"`+row[2]+`"`)
			changed++
		}
	}
	if changed != 1 {
		t.Fatalf("%s changed %d import paths", page, changed)
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../../..")
	must(t, err)
	file := filepath.Join(dir, "main.go")
	overlay := filepath.Join(dir, "overlay.json")
	at := filepath.Join(root, "test", "moving", "compat", "moved", "main.go") // in a module that has all it needs
	for name, data := range map[string]string{
		file:    program,
		overlay: `{"Replace": {"` + at + `": "` + file + `"}}`,
	} {
		must(t, os.WriteFile(name, []byte(data), 0o600))
	}
	return tests.Run(t, exec.Command("go", "run", "-overlay", overlay, at))
}

// A reader of docs/move/go-libraries.md changes one import path.
func TestMoveFromBwmarrin(t *testing.T) {
	printed := follow(t, "go-libraries.md", `package main

import (
	"encoding/json"
	"fmt"

	"github.com/bwmarrin/snowflake"
)

func main() {
	snowflake.Epoch = 1420070400000
	node, err := snowflake.NewNode(17)
	if err != nil {
		panic(err)
	}
	id := node.Generate()
	back, err := snowflake.ParseBase58([]byte(id.Base58()))
	if err != nil || back != id {
		panic(err)
	}
	text, err := json.Marshal(map[string]snowflake.ID{"id": id})
	fmt.Println(id.Node(), id.Time() > 1700000000000, string(text) == "{\"id\":\""+id.String()+"\"}", err)
}
`)
	if printed != "17 true true <nil>\n" {
		t.Errorf("it printed %q", printed)
	}
}

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
