package native

import (
	"regexp"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// The programs of the page print IDs.
func TestHTTPPage(t *testing.T) {
	url := serve(t, t.TempDir())
	for _, p := range []struct {
		section, file, line string
		needs               []string
	}{
		{"Shell", "main.sh", "bash main.sh", []string{"curl"}},
		{"PHP", "main.php", "php main.php", []string{"php"}},
		{"Ruby", "main.rb", "ruby main.rb", []string{"ruby"}},
	} {
		t.Run(p.section, func(t *testing.T) {
			if p.section != "Shell" {
				servers.Later(t) // which installs them
			}
			t.Parallel()
			servers.Need(t, p.section, p.needs...)
			dir := t.TempDir()
			write(t, dir, map[string]string{p.file: block(t, "server.md", p.section, url)})
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
