package program

import (
	"context"
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
	made    = regexp.MustCompile(`[0-9]{15,19}`)
)

// TestStartServer starts the server of docs/start/server.md on free ports,
// and compares what it says and answers with that page and with
// docs/reference/protocols.md.
func TestStartServer(t *testing.T) {
	redis := servers.Need(t, "redis-server", "redis-cli")[0]
	data, err := os.ReadFile("../../../docs/start/server.md")
	must(t, err)
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
	var said []byte
	server.Ready(t, func() (err error) {
		if said, err = os.ReadFile(server.Log); err == nil && !strings.Contains(string(said), "IDs are unique") {
			err = os.ErrNotExist // its last line
		}
		return err
	})
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
	if n != 5 {
		t.Errorf("%d lines, want 5", n)
	}
	more, err := os.ReadFile("../../../docs/reference/protocols.md")
	must(t, err)
	n = 0
	for _, m := range request.FindAllStringSubmatch(page+places.Replace(string(more)), -1) {
		if strings.Contains(m[3], `"ticket"`) || strings.Contains(m[2], "RANDOM") {
			continue // the ticket of a page is of another server
		}
		n++
		var got string
		if m[1] == "curl" {
			got, err = servers.Curl(ctx, m[2])
		} else {
			args := append([]string{"--no-raw"}, strings.Fields(m[2])...)
			var out []byte
			out, err = exec.CommandContext(ctx, redis, args...).CombinedOutput()
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
