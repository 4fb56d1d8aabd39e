package clib

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// page is a section of a page that starts a language: its first block is
// saved as a file, and its second one is run.
type page struct {
	path, section, file string
	need                []string
}

func documented() []page {
	all := []page{
		{"c.md", "Make IDs", "main.c", []string{"cc", "pkg-config"}},
		{"c.md", "C++", "main.cpp", []string{"g++"}},
		{"c.md", "Rust", "shop/src/main.rs", []string{"cargo"}},
		{"c.md", "PHP", "main.php", []string{"php"}},
		{"c.md", "Perl", "main.pl", []string{"perl"}},
		{"c.md", "C sharp", "Program.cs", []string{"mcs", "mono"}},
		{"c.md", "Pascal", "main.pas", []string{"fpc"}},
		{"c.md", "D", "main.d", []string{"gdc"}},
	}
	if testing.Short() {
		return all[1:2]
	}
	return all
}

// blocks returns the indented blocks of a section.
func blocks(t *testing.T, p page) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../docs/start", p.path))
	must(t, err)
	_, text, ok := strings.Cut(string(data), "\n## "+p.section+"\n")
	if !ok {
		t.Fatalf("%s has no section %s", p.path, p.section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var out []string
	var block []byte
	for line := range strings.Lines(text + "\nend\n") {
		switch code, ok := strings.CutPrefix(line, "    "); {
		case ok:
			block = append(block, code...)
		case strings.TrimSpace(line) == "" && len(block) > 0:
			block = append(block, '\n')
		case len(block) > 0:
			out, block = append(out, string(bytes.TrimSpace(block))+"\n"), nil
		}
	}
	return out
}

// What the pages show is compiled and run word by word, in a folder like
// the one they tell people to work in, with the library installed elsewhere
// than in /usr/local.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, p := range documented() {
		t.Run(p.section+"/"+p.file, func(t *testing.T) {
			t.Parallel()
			servers.Need(t, p.file, p.need...)
			found := blocks(t, p)
			if len(found) < 2 {
				t.Fatalf("%q", found)
			}
			dir := t.TempDir()
			path := filepath.Join(dir, p.file)
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, os.WriteFile(path, []byte(found[0]), 0o600))
			place(t, dir)
			cmd := exec.CommandContext(t.Context(), "bash", "-euc", strings.ReplaceAll(found[1], "/usr/local", dir))
			cmd.Dir = dir
			cmd.Env = append(environment(t), "PKG_CONFIG_PATH="+filepath.Join(dir, "lib/pkgconfig"))
			out, err := cmd.CombinedOutput()
			if err != nil || len(bytes.TrimSpace(out)) < 10 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// place puts the clients below a folder, as in a clone, and the library as
// make install does.
func place(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(dir, "clients"), 0o700))
	for _, name := range []string{"cpp", "rust", "php", "perl", "csharp", "pascal", "d"} {
		tests.Run(t, exec.CommandContext(t.Context(), "cp", "-r", "../../../clients/"+name, dir+"/clients"))
	}
	install := exec.CommandContext(t.Context(), "scripts/install.sh", build(t), dir)
	install.Dir = "../../.."
	tests.Run(t, install)
}
