package wires

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// curl sends a request as curl would.
func (s *served) curl(t *testing.T, command string) string {
	t.Helper()
	method, body, header := "GET", "", http.Header{"Authorization": {"Bearer " + secret}}
	var address string
	words := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(command, -1)
	for i := 0; i < len(words); i++ {
		arg := strings.Trim(words[i], "'")
		if !strings.HasPrefix(arg, "-") {
			address = arg
			continue
		}
		i++
		switch value := strings.Trim(words[i], "'"); arg {
		case "-X":
			method = value
		case "-d":
			if body = value; method == "GET" {
				method = "POST"
			}
		case "-H":
			name, text, _ := strings.Cut(value, ": ")
			header.Set(name, text)
		default:
			t.Fatalf("%s: the test does not know %s", command, arg)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The requests for sequences in the pages answer what the pages say.
func TestSequencesOfThePages(t *testing.T) {
	n := 0
	for _, path := range []string{"reference/protocols.md", "choose/sequences.md"} {
		page, err := os.ReadFile("../../../docs/" + path)
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, "sqlite:"+filepath.Join(t.TempDir(), "page.db"))
		lines := strings.Split(string(page), "\n")
		for i, line := range lines {
			command, ok := strings.CutPrefix(strings.Replace(line, "    $ curl", "    curl", 1), "    curl ")
			if !ok || !strings.Contains(command, "equence") {
				continue
			}
			n++
			got := s.curl(t, strings.ReplaceAll(command, "127.0.0.1:8080", s.http))
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
