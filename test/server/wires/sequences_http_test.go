package wires

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// The requests for sequences in the pages answer what the pages say.
func TestSequencesOfThePages(t *testing.T) {
	n := 0
	for _, path := range []string{"reference/protocols.md", "choose/sequences.md"} {
		page, err := os.ReadFile("../../../docs/" + path)
		must(t, err)
		s := serve(t, "sqlite:"+filepath.Join(t.TempDir(), "page.db"))
		lines := strings.Split(string(page), "\n")
		for i, line := range lines {
			command, ok := strings.CutPrefix(strings.Replace(line, "    $ curl", "    curl", 1), "    curl ")
			if !ok || !strings.Contains(command, "equence") {
				continue
			}
			n++
			got, err := servers.Curl(t.Context(), strings.ReplaceAll(command, "127.0.0.1:8080", s.http),
				"Authorization: Bearer "+secret)
			must(t, err)
			want := strings.TrimSpace(lines[i+1])
			if !strings.HasPrefix(line, "    $") { // a page without answers
				if want = "{"; !strings.Contains(got, `"numbers":`) && !strings.Contains(got, `"state":"active"`) {
					t.Errorf("%s: %s", command, got)
				}
			}
			rest := strings.ReplaceAll(got, `, "`, `,"`)
			for part := range strings.SplitSeq(strings.ReplaceAll(want, `, "`, `,"`), "…") {
				_, after, ok := strings.Cut(rest, strings.Trim(part, ","))
				if !ok {
					t.Errorf("%s\n%s, and the page says\n%s", command, got, want)
				}
				rest = after
			}
		}
	}
	if n < 6 {
		t.Errorf("only %d requests", n)
	}
}
