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

// TestReadme builds the programs of README as they stand there, and runs each twice: in an empty folder, and on a new database whose user may make tables.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	pg := servers.StartPostgres(t)
	database := pg.NewDatabase(t)
	pg.SQL(t, database, "CREATE USER app; GRANT CREATE ON SCHEMA public TO app")
	url := strings.Replace(pg.URL(database), "postgres@", "app@", 1)
	blocks := goBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d programs", len(blocks))
	}
	scheme, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range blocks {
		dir := t.TempDir()
		source, path := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
		if err := os.WriteFile(source, []byte(block[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, source).CombinedOutput(); err != nil {
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
