package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/servers"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestReadme builds the programs of README and of the first pages as they stand there,
// and runs each twice: in an empty folder, and on a new database whose user may make
// tables. Other lines of Go are lines of these programs.
func TestReadme(t *testing.T) {
	var programs, pieces []string
	for _, path := range []string{
		"README.md", "docs/start/go-folder.md", "docs/start/go-sqlite.md", "docs/start/go-postgresql.md",
	} {
		text, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(block[1], "package main\n") {
				programs = append(programs, block[1])
			} else {
				pieces = append(pieces, block[1])
			}
		}
	}
	if len(programs) != 4 || len(pieces) != 2 {
		t.Fatalf("%d programs and %d pieces", len(programs), len(pieces))
	}
	for line := range strings.Lines(strings.Join(pieces, "")) {
		if !strings.Contains(strings.Join(programs, ""), line) {
			t.Errorf("in no program: %s", line)
		}
	}
	pg := servers.StartPostgres(t)
	database := pg.NewDatabase(t)
	pg.SQL(t, database, "CREATE USER app; GRANT CREATE ON SCHEMA public TO app")
	url := strings.Replace(pg.URL(database), "postgres@", "app@", 1)
	scheme, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		t.Fatal(err)
	}
	for i, program := range programs {
		dir := t.TempDir()
		source, path := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
		if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", path,
			source).CombinedOutput(); err != nil {
			t.Fatalf("program %d: %v\n%s", i, err, out)
		}
		var last int64
		for range 2 {
			cmd := exec.CommandContext(t.Context(), path)
			cmd.Dir, cmd.Env = dir, []string{"DATABASE_URL=" + url}
			out, err := cmd.CombinedOutput()
			id, parseErr := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
			if err != nil || parseErr != nil || id <= last {
				t.Fatalf("program %d: %v, %v\n%s", i, err, parseErr, out)
			}
			last = id
			if p, err := scheme.Decode(snowfence.ID(id)); err != nil || time.Since(p.Time).Abs() > time.Hour {
				t.Errorf("program %d: %d is of %v, %v", i, id, p.Time, err)
			}
		}
	}
}
