package release

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
)

var must = tests.NoError

var (
	long  = flag.Bool("long", false, "also import every package, install the program, and run what the pages say")
	table = flag.String("table", "", "file for sizes and times")
)

const repository = "../.."

// user is a user with an empty module cache, who reaches our modules by a
// file proxy, and others' in the module cache of this machine.
type user struct {
	version string
	modules []Module
	sizes   map[string]int64
	env     []string
	bin     string
	used    time.Duration // processor time of the last run
}

func newUser(t *testing.T) *user {
	t.Helper()
	u := &user{bin: t.TempDir()}
	var err error
	u.modules, u.version, err = Modules(repository)
	must(t, err)
	proxy := t.TempDir()
	u.sizes, err = Pack(repository, proxy, u.version, u.modules)
	must(t, err)
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	must(t, err)
	others := filepath.Join(strings.TrimSpace(string(out)), "cache", "download")
	u.env = append(os.Environ(), "GOWORK=off", "GOSUMDB=off", "GOPROXY=file://"+proxy+",file://"+others,
		"GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw -trimpath", "GOBIN="+u.bin)
	return u
}

// lacking finds the modules that the go command did not find in the
// proxies.
var lacking = regexp.MustCompile(`(\S+@v\S+): reading file://\S+: no such file or directory`)

// run runs a command line in dir and returns what it printed. Where it
// lacks modules of others, run loads them into the module cache of this
// machine, and begins again: what counts is the run that needs nothing but
// files.
func (u *user) run(t *testing.T, dir, line string) string {
	t.Helper()
	for tried := map[string]bool{}; ; {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = dir, u.env
		out, err := cmd.CombinedOutput()
		if err == nil {
			u.used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			return string(out)
		}
		load := exec.CommandContext(t.Context(), "go", "mod", "download")
		load.Dir, load.Env = t.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw")
		for _, found := range lacking.FindAllSubmatch(out, -1) {
			if m := string(found[1]); !Ours(m) && !tried[m] {
				tried[m] = true
				load.Args = append(load.Args, m)
			}
		}
		if len(load.Args) == 3 {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		if loaded, err := load.CombinedOutput(); err != nil {
			t.Fatalf("%s lacks modules: %v\n%s", line, err, loaded)
		}
	}
}

// figure writes a size or a time, also for those who run the verb.
func figure(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	if *table == "" {
		return
	}
	f, err := os.OpenFile(*table, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(t, err)
	_, err = fmt.Fprintln(f, line)
	must(t, errors.Join(err, f.Close()))
}

// timed runs a command line and notes how long it took, and how much of the
// processors.
func (u *user) timed(t *testing.T, dir, name, line string) {
	t.Helper()
	began := time.Now()
	u.run(t, dir, line)
	figure(t, "%-5s %6.1f s, processors %6.1f s  %s", name, time.Since(began).Seconds(), u.used.Seconds(), line)
}

// empty makes an empty module.
func (u *user) empty(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	u.run(t, dir, "go mod init example.com/user")
	return dir
}

func TestGetRootAndAStore(t *testing.T) {
	u := newUser(t)
	const limit = 1_030_000 // bytes of the root's zip, which everybody loads; Go 1.27 packs 2 % more than 1.26
	if size := u.sizes[root]; size > limit {
		t.Errorf("the zip of the root has %d bytes, want at most %d", size, limit)
	}
	for _, m := range u.modules {
		figure(t, "%-24s %7d bytes", m.Tag(u.version), u.sizes[m.Path])
	}
	store := root + "/redisstore"
	dir := u.empty(t)
	u.run(t, dir, "go get "+root+" "+store)
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	must(t, err)
	for _, path := range []string{root, store} {
		if !strings.Contains(string(mod), path+" "+u.version) {
			t.Errorf("go.mod does not name %s %s:\n%s", path, u.version, mod)
		}
	}
	if *long { // takes half a minute of processor time
		u.runs(t, dir, []string{root, store})
	}
}

// runs checks that a program in dir that imports the packages compiles and
// starts.
func (u *user) runs(t *testing.T, dir string, packages []string) {
	t.Helper()
	var main strings.Builder
	main.WriteString("package main\n\n")
	for _, p := range packages {
		fmt.Fprintf(&main, "import _ %q\n", p)
	}
	main.WriteString("\nfunc main() { println(\"ok\") }\n")
	must(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(main.String()), 0o644))
	u.run(t, dir, "go mod tidy")
	if out := u.run(t, dir, "go run ."); out != "ok\n" {
		t.Errorf("a program over %v printed %q, want ok", packages, out)
	}
}

func TestEveryPackage(t *testing.T) {
	if !*long {
		return // TestGetRootAndAStore is the short form
	}
	u := newUser(t)
	for _, m := range u.modules {
		cmd := exec.Command("go", "list", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, "./...")
		cmd.Dir = filepath.Join(repository, m.Dir)
		out, err := cmd.Output()
		must(t, err)
		var packages []string
		for _, p := range strings.Fields(string(out)) {
			if !strings.Contains(p, "/internal/") {
				packages = append(packages, p)
			}
		}
		if len(packages) == 0 {
			continue // a module of programs, which TestInstall installs
		}
		t.Run(m.Tag(u.version), func(t *testing.T) {
			dir := u.empty(t)
			u.run(t, dir, "go get "+m.Path+"@"+u.version)
			u.runs(t, dir, packages)
		})
	}
}

func TestInstall(t *testing.T) {
	if !*long {
		return // the program's dependencies take minutes to compile
	}
	u := newUser(t)
	// Nothing is compiled yet, as for a user who just installed Go. Without
	// C, as what we release.
	u.env = append(u.env, "GOCACHE="+t.TempDir(), "CGO_ENABLED=0")
	dir := t.TempDir()
	at := root + "/cmd/snowfence@" + u.version
	u.timed(t, dir, "load", "go install -n "+at) // unpacks the modules
	u.timed(t, dir, "cold", "go install -tags=grpcnotrace -ldflags='-s -w' "+at)
	u.timed(t, dir, "warm", "go install -tags=grpcnotrace -ldflags='-s -w' "+at)
	u.timed(t, dir, "first", "go run -tags=grpcnotrace "+at+" version") // links with symbols
	u.timed(t, dir, "again", "go run -tags=grpcnotrace "+at+" version")
	program := filepath.Join(u.bin, "snowfence")
	if out := u.run(t, dir, program+" version"); !strings.HasPrefix(out, "snowfence "+u.version+" ") {
		t.Errorf("snowfence version printed %q, want %s", out, u.version)
	}
	info, err := os.Stat(program)
	must(t, err)
	figure(t, "the program without symbols has %d bytes", info.Size())
	const limit = 45_000_000
	if info.Size() > limit {
		t.Errorf("the program has more than %d bytes", limit)
	}
}

// A command of a page, as one line of a block of code or between backticks.
// Those with ./ are for a clone.
var pageCommand = regexp.MustCompile("(?m)(?:^(?:\\$ )?|`)(go (?:get|install) [^`\n#&|]+)")

func TestPages(t *testing.T) {
	commands := map[string]string{} // with the page
	for _, top := range []string{"README.md", "docs"} {
		err := filepath.WalkDir(filepath.Join(repository, top), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".md") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range pageCommand.FindAllSubmatch(text, -1) {
				line := strings.TrimSpace(string(found[1]))
				if strings.Contains(line, ".") && !strings.Contains(line, " ./") {
					commands[line] = path
				}
			}
			return err
		})
		must(t, err)
	}
	if len(commands) < 4 {
		t.Fatalf("the pages have only %d commands: %v", len(commands), commands)
	}
	if !*long {
		return // each needs modules of others that this machine may not have
	}
	u := newUser(t)
	for line, page := range commands {
		t.Run(line, func(t *testing.T) {
			t.Log(page)
			u.run(t, u.empty(t), line)
		})
	}
}
