package native

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

func TestMain(m *testing.M) { os.Exit(shared(m)) }

// scratch is a folder for what tests share.
var scratch string

func shared(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "snowfence-native"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return servers.Main(m)
}

const (
	root    = "../../.."
	clients = root + "/clients"
	vectors = root + "/testdata/specification"
)

// serve starts a server over a file in a folder, and returns its address.
func serve(t *testing.T, dir string, args ...string) (url string) {
	t.Helper()
	_, address := servers.Serve(t, store(dir), args...)
	return "http://" + address
}

// store is the URL of a store in a folder.
func store(dir string) string { return "sqlite:" + filepath.Join(dir, "ids.db") }

// run runs a command line in a folder and returns what it printed.
func run(t *testing.T, dir, line string, env ...string) string {
	t.Helper()
	out, err := try(t, dir, line, env...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

// try is run for what may fail.
func try(t *testing.T, dir, line string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", line)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "npm_config_audit=false", "npm_config_fund=false",
		"npm_config_prefer_offline=true", "npm_config_update_notifier=false", "PYTHONDONTWRITEBYTECODE=1"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// absolute is a path as programs in other folders need it.
func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	must(t, err)
	return path
}

// replace changes a text wherever it stands in a file.
func replace(t *testing.T, path, old, with string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q: %v", path, old, err)
	}
	must(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, with)), 0o600))
}

// copied is a copy of a folder for a test to change.
func copied(t *testing.T, folder string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(folder)))
	return dir
}

// block is the first block below a heading of a page, for a server at a
// URL.
func block(t *testing.T, page, heading, url string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "start", page))
	must(t, err)
	_, after, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	for _, b := range regexp.MustCompile(`(?m)^(?:(?: {4}.*)?\n)+`).FindAllString(after, -1) {
		if ok && strings.TrimSpace(b) != "" {
			b = regexp.MustCompile(`(?m)^ {4}`).ReplaceAllString(b, "")
			return strings.ReplaceAll(b, "http://127.0.0.1:8080", url)
		}
	}
	t.Fatalf("%s has no block after %q", page, heading)
	return ""
}

// links checks that a page links these files of a folder of testdata, which
// the test runs, and no others.
func links(t *testing.T, page, folder string, files ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "start", page))
	must(t, err)
	var got []string
	link := regexp.MustCompile(`\]\(\.\./\.\./test/clients/native/testdata/` + folder + `/([^)]+)\)`)
	for _, l := range link.FindAllStringSubmatch(string(text), -1) {
		got = append(got, l[1])
	}
	if !slices.Equal(got, files) {
		t.Errorf("%s links %v of %s, and the test runs %v", page, got, folder, files)
	}
}

// framework returns a program of testdata/frameworks, which has the lines
// that the page shows in the section of that name.
func framework(t *testing.T, page, file, url string) string {
	t.Helper()
	shown := block(t, page, strings.TrimSuffix(file, filepath.Ext(file)), url)
	text, err := os.ReadFile("testdata/frameworks/" + file)
	must(t, err)
	program := strings.ReplaceAll(string(text), "http://127.0.0.1:8080", url)
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if !strings.Contains(words(program), words(shown)) {
		t.Errorf("not in the program: %s", shown)
	}
	return program
}

// write writes files into a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// secretive starts a server with tokens that hands secrets out, with an
// encrypted namespace users and two sequences. It returns variables with
// its URL and its token.
func secretive(t *testing.T) (variables []string) {
	t.Helper()
	dir := t.TempDir()
	const token = "the-token-of-a-test"
	key, tokens := filepath.Join(dir, "users.key"), filepath.Join(dir, "tokens.yaml")
	write(t, dir, map[string]string{
		"users.key": "dffd6021bb2bd5b0af676290809ec3a5\n",
		"tokens.yaml": fmt.Sprintf("tokens:\n- name: all\n  sha256: %x\n  verbs: [read, ids, lease]\n",
			sha256.Sum256([]byte(token))),
	})
	for _, line := range []string{
		"namespace create users --layout time=30,tag=3,node=14,seq=17,tick=1s,cipher=sparx --secret-file " + key,
		"namespace create spread --layout scatter=3,time=41,node=4,seq=2",
		"sequence create bills --start 5 --step 2",
		"sequence create dated --pattern 'RE-{year}-{n:6}'",
	} {
		run(t, dir, servers.Program(t, servers.Snowfence)+" "+line+" --store "+store(dir), "HOME="+dir)
	}
	url := serve(t, dir, "--secret", "users="+key, "--hand-out-secrets", "--tokens", tokens)
	return []string{"SNOWFENCE_SERVER=" + url, "SNOWFENCE_TOKEN=" + token}
}

// fenced is a block of docs/start/node.md below a heading.
var fenced = regexp.MustCompile("(?ms)^### ([^\n]+)\n.*?^```[a-z]+\n(.*?)^```$")

// The block of the page, and the files that it names, fill keys, on a real
// PostgreSQL server, and read IDs.
func TestORMs(t *testing.T) {
	links(t, "node.md", "orms", "typeorm.js", "zod.js")
	t.Parallel()
	servers.Later(t)
	dir, url, app := build(t), serve(t, t.TempDir()), t.TempDir()
	page, err := os.ReadFile(filepath.Join(root, "docs", "start", "node.md"))
	must(t, err)
	must(t, os.CopyFS(app, os.DirFS(filepath.Join("testdata", "orms"))))
	for _, m := range fenced.FindAllStringSubmatch(string(page), -1) {
		file, text := strings.ToLower(m[1])+".js", "import { ids } from './ids.js'\n"+m[2]
		must(t, os.WriteFile(filepath.Join(app, file), []byte(text), 0o600))
	}
	run(t, dir, "npm pack --ignore-scripts --pack-destination "+app)
	run(t, app, "npm ci && npm install --no-save ./snowfence-*.tgz")
	p := servers.StartPostgres(t)
	run(t, app, "node test.js", "SERVER="+url, "DATABASE="+p.URL(p.NewDatabase(t)))
}

// The program of the page, and those that it names, print IDs.
func TestHTTPPage(t *testing.T) {
	links(t, "server.md", "http", "main.php", "main.rb", "main.cs")
	url := serve(t, t.TempDir())
	for _, p := range []struct {
		section, file, line string
		needs               []string
	}{
		{"Shell", "main.sh", "bash main.sh", []string{"curl"}},
		{"PHP", "main.php", "php main.php", []string{"php"}},
		{"Ruby", "main.rb", "ruby main.rb", []string{"ruby"}},
		{"C#", "main.cs", "mcs -r:System.Net.Http.dll main.cs && mono main.exe", []string{"mcs", "mono"}},
	} {
		t.Run(p.section, func(t *testing.T) {
			if p.section != "Shell" {
				servers.Later(t) // which installs them
			}
			t.Parallel()
			servers.Need(t, p.section, p.needs...)
			dir := t.TempDir()
			text := block(t, "server.md", "Shell", url)
			if p.section != "Shell" {
				data, err := os.ReadFile("testdata/http/" + p.file)
				must(t, err)
				text = string(data)
			}
			write(t, dir, map[string]string{p.file: text})
			out := run(t, dir, p.line, "SNOWFENCE_SERVER="+url)
			for _, id := range strings.Fields(out) {
				if !regexp.MustCompile(`^\d{17,19}$`).MatchString(id) {
					t.Errorf("%q", out)
				}
			}
			if out == "" {
				t.Error("no IDs")
			}
		})
	}
}
