// Package typescript tests the npm package: by its own tests, on the vectors of the specification,
// by the referee for clients, and as users install it.
package typescript

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
	"github.com/snowfence/snowfence/test/release"
)

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

const root = "../../.."

// run runs a command line in a folder and returns what it printed.
func run(t *testing.T, dir, line string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "npm_config_audit=false", "npm_config_fund=false",
		"npm_config_prefer_offline=true", "npm_config_update_notifier=false"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// build builds the package in a copy of its folder.
func build(t *testing.T) string {
	t.Helper()
	servers.Need(t, "node", "node", "npm")
	dir := t.TempDir()
	run(t, root, "git ls-files --cached --others --exclude-standard clients/typescript | tar c -T - | tar x -C "+dir)
	dir = filepath.Join(dir, "clients", "typescript")
	run(t, dir, "npm ci --ignore-scripts && npm run build")
	return dir
}

// serve starts a server over a store in memory, and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	address := servers.Address(servers.Ports(t, 1)[0])
	p := servers.Start(t, "snowfence", servers.Program(t, servers.Snowfence), []string{
		"serve", "--store", "sqlite:" + filepath.Join(t.TempDir(), "ids.db"), "--http", address, "--resp", "",
		"--max-wait", "1m",
	}, []string{"HOME=" + t.TempDir()})
	p.Ready(t, func() error {
		res, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
	return "http://" + address
}

// The package follows the specification: its vectors, and what servers and networks can do.
func TestPackage(t *testing.T) {
	t.Parallel()
	dir := build(t)
	vectors, err := filepath.Abs(filepath.Join(root, "testdata", "specification"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "node test/vectors.js "+vectors)
	run(t, dir, "npm test")
	if out := wrong(t, dir, vectors); !strings.Contains(out, " composed:") || !strings.Contains(out, ", step 1:") {
		t.Errorf("wrong vectors pass:\n%s", out)
	}
}

// wrong runs the package on vectors with two errors.
func wrong(t *testing.T, dir, vectors string) string {
	t.Helper()
	bad := t.TempDir()
	run(t, vectors, "cp *.json "+bad+`; cd `+bad+`; sed -i '0,/"raw": "/s//"raw": "1/' ids.json; `+
		`sed -i 's/"id": "6412"/"id": "6413"/' grants.json`)
	return run(t, dir, "! node test/vectors.js "+bad)
}

// block is a block of a page after a heading.
func block(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "start", page))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	found := regexp.MustCompile(`(?m)^(?:(?: {4}.*)?\n)+`).FindAllString(after, -1)
	for _, b := range found {
		if ok && strings.TrimSpace(b) != "" {
			return regexp.MustCompile(`(?m)^ {4}`).ReplaceAllString(b, "")
		}
	}
	t.Fatalf("%s has no block after %q", page, heading)
	return ""
}

// The file of the package in an empty project, the lines of the page and a server give IDs, to
// modules of both kinds, and their types are there.
func TestInstalled(t *testing.T) {
	t.Parallel()
	_, version, err := release.Modules(root)
	if err != nil {
		t.Fatal(err)
	}
	dir, url, app := build(t), serve(t), t.TempDir()
	got, want := strings.TrimSpace(run(t, dir, "npm pkg get version")), strconv.Quote(version[1:])
	if got != want {
		t.Errorf("the package has the version %s, and the release %s", got, want)
	}
	run(t, dir, "npm pack --ignore-scripts --pack-destination "+app)
	lines := strings.ReplaceAll(block(t, "node.md", "Make IDs"), "http://127.0.0.1:8080", url)
	required := strings.NewReplacer(
		"import { Generator } from 'snowfence'", "const { Generator } = require('snowfence')\nasync function main () {",
		"await ids.close()", "await ids.close()\n}\nmain()").Replace(lines)
	for name, text := range map[string]string{
		"package.json": `{"name": "app", "private": true}`, "main.mjs": lines, "main.cjs": required,
	} {
		if err := os.WriteFile(filepath.Join(app, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, app, "npm install ./snowfence-*.tgz")
	for _, name := range []string{"main.mjs", "main.cjs"} {
		out := strings.Fields(run(t, app, "node "+name))
		if len(out) < 2 || !regexp.MustCompile(`^\d{17,19}n$`).MatchString(out[0]) {
			t.Errorf("%s: %q", name, out)
		}
	}
	types, err := os.ReadFile(filepath.Join("testdata", "types.mts"))
	if err == nil {
		err = os.WriteFile(filepath.Join(app, "types.mts"), types, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, app, dir+"/node_modules/.bin/tsc --noEmit --strict --target es2022 --module nodenext --types '' types.mts")
}
