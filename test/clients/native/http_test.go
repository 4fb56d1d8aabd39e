package native

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

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
