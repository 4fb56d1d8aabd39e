package program

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var (
	request = regexp.MustCompile(`(?m)^    \$ (curl|redis-cli) (.*)\n((?:    [^$\n].*\n)+)`)
	word    = regexp.MustCompile(`'[^']*'|\S+`)
	made    = regexp.MustCompile(`[0-9]{15,19}`)
)

// TestStartServer starts the server of docs/start/server.md on free ports,
// and compares what it says and answers with that page and with
// docs/reference/protocols.md.
func TestStartServer(t *testing.T) {
	redis := servers.Need(t, "redis-server", "redis-cli")[0]
	data, err := os.ReadFile("../../../docs/start/server.md")
	if err != nil {
		t.Fatal(err)
	}
	path := servers.Program(t, servers.Snowfence)
	ports := servers.Ports(t, 2)
	web, resp := servers.Address(ports[0]), servers.Address(ports[1])
	home := t.TempDir()
	_, port, _ := strings.Cut(resp, ":")
	places := strings.NewReplacer("127.0.0.1:8080", web, "127.0.0.1:6380", resp, "-p 6380",
		"-p "+port, "/home/you", home)
	page := places.Replace(string(data))
	server := servers.Start(t, "snowfence", path, []string{"serve", "--http", web, "--resp", resp},
		[]string{"HOME=" + home})
	ctx, cancel := context.WithTimeout(t.Context(), fleet.Patience())
	defer cancel()
	server.Ready(t, func() error {
		_, err := curl(ctx, []string{"http://" + web + "/v1/default/next"})
		return err
	})

	said, err := os.ReadFile(server.Log)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(page) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "snowfence: ")
		if !ok {
			continue
		}
		n++
		if !strings.Contains(spaced(string(said)), spaced(line)) {
			t.Errorf("the server does not say %q, but\n%s", line, said)
		}
	}
	if n != 6 {
		t.Errorf("%d lines, want 6", n)
	}
	more, err := os.ReadFile("../../../docs/reference/protocols.md")
	if err != nil {
		t.Fatal(err)
	}
	n = 0
	for _, m := range request.FindAllStringSubmatch(page+places.Replace(string(more)), -1) {
		if strings.Contains(m[3], `"ticket"`) || strings.Contains(m[2], "RANDOM") {
			continue // the ticket of a page is of another server
		}
		n++
		args := word.FindAllString(m[2], -1)
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		var got string
		if m[1] == "curl" {
			got, err = curl(ctx, args)
		} else {
			var out []byte
			out, err = exec.CommandContext(ctx, redis, append([]string{"--no-raw"}, args...)...).CombinedOutput()
			got = string(out)
		}
		if err != nil || !same(got, m[3]) {
			t.Errorf("%s %s: %v\n%sthe page has\n%s", m[1], m[2], err, got, m[3])
		}
	}
	if n < 9 {
		t.Errorf("only %d requests", n)
	}
}

// spaced is a text with single spaces, because the server aligns its lines.
func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// same reports whether an answer is a page's, but for IDs, for spaces, and
// for what the page leaves out by "…".
func same(got, page string) bool {
	bare := func(s string) string { return strings.Join(strings.Fields(made.ReplaceAllString(s, "ID")), "") }
	got = bare(got)
	for i, part := range strings.Split(bare(page), "…") {
		at := strings.Index(got, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		got = got[at+len(part):]
	}
	return got == ""
}

// curl does what the program of this name does with -H, -d, -X and an
// address.
func curl(ctx context.Context, args []string) (string, error) {
	method, asked, body, url := http.MethodGet, "", "", ""
	header := http.Header{}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-H":
			i++
			name, value, _ := strings.Cut(args[i], ": ")
			header.Set(name, value)
		case "-d":
			i++
			method, body = cmp.Or(asked, http.MethodPost), args[i]
		case "-X":
			i++
			method, asked = args[i], args[i]
		default:
			url = args[i]
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header = header
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return string(answer), err
}
