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
