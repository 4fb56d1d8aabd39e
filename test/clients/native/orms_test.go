package native

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

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
