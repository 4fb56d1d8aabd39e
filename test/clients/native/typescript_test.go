package native

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
	"github.com/snowfence/snowfence/test/release"
)

var built sync.Once

// build returns a folder with the npm package as it is built. Its tools are
// in node_modules above.
func build(t *testing.T) string {
	t.Helper()
	servers.Need(t, "node", "node", "npm")
	dir := filepath.Join(scratch, "clients", "typescript")
	built.Do(func() {
		files := "git ls-files --cached --others --exclude-standard clients/typescript"
		run(t, root, files+" | tar c -T - | tar x -C "+scratch)
		run(t, dir, "npm ci --ignore-scripts && npm run build && mv node_modules "+scratch)
	})
	if _, err := os.Stat(filepath.Join(scratch, "node_modules")); err != nil {
		t.Fatal("the package was not built, as another test says: ", err)
	}
	return dir
}

// The package does what servers and networks ask of it.
func TestPackage(t *testing.T) {
	t.Parallel()
	run(t, build(t), "npm test")
}

// The file of the package in an empty project, the lines of the page and a
// server give IDs, to modules of both kinds, and their types are there.
func TestInstalled(t *testing.T) {
	t.Parallel()
	_, version, err := release.Modules(root)
	must(t, err)
	dir, url, app := build(t), serve(t, t.TempDir()), t.TempDir()
	got, want := strings.TrimSpace(run(t, dir, "npm pkg get version")), strconv.Quote(version[1:])
	if got != want {
		t.Errorf("the package has the version %s, and the release %s", got, want)
	}
	run(t, dir, "npm pack --ignore-scripts --pack-destination "+app)
	lines := block(t, "node.md", "Make IDs", url)
	required := strings.NewReplacer(
		"import { Generator } from 'snowfence'", "const { Generator } = require('snowfence')\nasync function main () {",
		"await ids.close()", "await ids.close()\n}\nmain()").Replace(lines)
	for name, text := range map[string]string{
		"package.json": `{"name": "app", "private": true}`, "main.mjs": lines, "main.cjs": required,
	} {
		must(t, os.WriteFile(filepath.Join(app, name), []byte(text), 0o600))
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
	must(t, err)
	tsc := scratch + "/node_modules/.bin/tsc --noEmit --strict --target es2022 --module nodenext --types ''"
	run(t, app, tsc+" types.mts")
}

// It makes encrypted IDs and takes numbers of sequences.
func TestPackageLive(t *testing.T) {
	t.Parallel()
	servers.Later(t)
	run(t, build(t), "node test/live.js", secretive(t)...)
}
