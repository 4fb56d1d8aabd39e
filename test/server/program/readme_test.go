package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var (
	goBlock   = regexp.MustCompile("(?s)```go\n(.*?)```")
	shownDSN  = regexp.MustCompile(`file:ids\.db[^']*`)
	lineBegin = regexp.MustCompile(`^\t(?:_ "|\w+, err := )`)
	openCall  = regexp.MustCompile("`([a-z]+\\.Open\\([^`]*)`")
)

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../../" + path)
	must(t, err)
	return string(text)
}

// TestReadme builds the programs of docs/start/go.md as they stand there,
// and runs each twice: in an empty folder, and on a new store. README shows
// lines and calls of these programs only.
func TestReadme(t *testing.T) {
	pg, maria := servers.StartPostgres(t), servers.StartMariaDB(t)
	etcd, redis := servers.StartEtcd(t), servers.StartRedis(t)
	database := pg.NewDatabase(t)
	pg.SQL(t, database, "CREATE USER app; GRANT CREATE ON SCHEMA public TO app")
	var programs strings.Builder
	page := readPage(t, "docs/start/go.md")
	for section, setting := range map[string]string{
		"A folder":         "",
		"SQLite":           "DATABASE_DSN=" + shownDSN.FindString(page),
		"PostgreSQL":       "DATABASE_URL=" + strings.Replace(pg.URL(database), "postgres@", "app@", 1),
		"MySQL or MariaDB": "DATABASE_DSN=" + maria.DSN(maria.NewDatabase(t)),
		"etcd":             "ETCD_ENDPOINTS=" + etcd.URL(),
		"Redis":            "REDIS_URL=" + redis.URL(),
	} {
		program := programOf(t, page, section)
		programs.WriteString(program)
		t.Run(section, func(t *testing.T) { runsTwice(t, program, setting) })
	}
	programs.WriteString(readPage(t, "docs/choose/stores.md")) // the Kubernetes API has its lines there
	readme := readPage(t, "README.md")
	var shown []string
	for _, block := range goBlock.FindAllStringSubmatch(readme, -1) {
		shown = append(shown, strings.Split(strings.TrimSuffix(block[1], "\n"), "\n")...)
	}
	calls := openCall.FindAllStringSubmatch(readme, -1)
	for _, call := range calls {
		shown = append(shown, call[1])
	}
	if len(calls) != 7 || len(shown) < 16 {
		t.Errorf("README shows %d calls, and %d lines and calls", len(calls), len(shown))
	}
	for _, line := range shown {
		if !strings.Contains(programs.String(), line) {
			t.Errorf("in no program: %s", line)
		}
	}
}

// programOf returns the program of a section. If a section shows only some
// lines, they replace the like lines in the program for PostgreSQL.
func programOf(t *testing.T, page, section string) string {
	t.Helper()
	_, text, _ := strings.Cut(page, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	blocks := goBlock.FindAllStringSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("%s has %d programs", section, len(blocks))
	}
	if strings.HasPrefix(blocks[0][1], "package ") {
		return blocks[0][1]
	}
	lines := strings.Split(programOf(t, page, "PostgreSQL"), "\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(blocks[0][1], "\n"), "\n") {
		begin := lineBegin.FindString(line)
		i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, begin) })
		if begin == "" || i < 0 {
			t.Fatalf("%s: in the place of which line is %s", section, line)
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// runsTwice builds a program and runs it twice: each run prints one ID, the
// second a higher one.
func runsTwice(t *testing.T, program, setting string) {
	scheme := fleet.Default(t)
	dir := t.TempDir()
	source, path := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	must(t, os.WriteFile(source, []byte(program), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", path, source)
	tests.Run(t, build)
	var last int64
	for range 2 {
		cmd := exec.CommandContext(t.Context(), path)
		cmd.Dir, cmd.Env = dir, []string{setting}
		out, err := cmd.CombinedOutput()
		id, parseErr := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		if err != nil || parseErr != nil || id <= last {
			t.Fatalf("%v, %v\n%s", err, parseErr, out)
		}
		last = id
		if p, err := scheme.Decode(snowfence.ID(id)); err != nil || time.Since(p.Time).Abs() > time.Hour {
			t.Errorf("%d is of %v, %v", id, p.Time, err)
		}
	}
}

// TestAgents compiles the program that AGENTS.md has for those who write
// code with Snowfence.
func TestAgents(t *testing.T) {
	blocks := goBlock.FindAllStringSubmatch(readPage(t, "AGENTS.md"), -1)
	if len(blocks) == 0 {
		t.Error("no program")
	}
	for _, block := range blocks {
		source := filepath.Join(t.TempDir(), "main.go")
		must(t, os.WriteFile(source, []byte(block[1]), 0o600))
		tests.Run(t, exec.CommandContext(t.Context(), "go", "vet", source))
	}
}

// TestReadmeTry runs what README says under "Try it". Continuous
// integration does that in a fresh clone. The last command runs this test,
// so here it only has to be what continuous integration runs.
func TestReadmeTry(t *testing.T) {
	_, text, _ := strings.Cut(readPage(t, "README.md"), "## Try it\n")
	_, text, _ = strings.Cut(text, "```sh\n")
	text, _, _ = strings.Cut(text, "```")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	const clone = "git clone https://github.com/snowfence/snowfence && cd snowfence"
	if len(lines) != 3 || lines[0] != clone || lines[2] != "make test" {
		t.Fatalf("README says: %q", lines)
	}
	if !regexp.MustCompile(`\bmake( \w+)* test\b`).MatchString(readPage(t, ".ci/run")) {
		t.Error("continuous integration does not run make test")
	}
	run := exec.CommandContext(t.Context(), "sh", "-c", lines[1])
	run.Dir, run.Env = "../../..", append(os.Environ(), "GOWORK=", "XDG_STATE_HOME="+t.TempDir())
	out, err := run.Output()
	ids := strings.Fields(string(out))
	if err != nil || len(ids) != 2 || ids[0] >= ids[1] {
		t.Errorf("%s: %q, %v", lines[1], out, err)
	}
}
