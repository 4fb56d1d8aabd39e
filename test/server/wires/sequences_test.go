package wires

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// sequences makes some in a new embedded file, and returns its address.
func sequences(t *testing.T) (store string) {
	t.Helper()
	store = "sqlite:" + filepath.Join(t.TempDir(), "sequences.db")
	for _, args := range [][]string{
		{"orders"},
		{"shop.orders", "--start", "1000"},
		{"strict", "--mode", "strict"},
		{"dense", "--mode", "dense"},
		{"few", "--max", "3", "--mode", "strict"},
		{"bills", "--pattern", "{year}-{n:6}"},
	} {
		command(t, append([]string{"sequence", "create", "--store", store}, args...)...)
	}
	return store
}

// command runs the program.
func command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), servers.Program(t, servers.Snowfence), args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	return strings.TrimSpace(tests.Run(t, cmd))
}

func TestRedisCLICounts(t *testing.T) {
	cli := servers.Need(t, "redis", "redis-cli")[0]
	s := serve(t, sequences(t))
	_, port, _ := strings.Cut(s.resp, ":")
	for _, version := range []string{"-2", "-3"} {
		cmd := exec.CommandContext(t.Context(), cli, version, "-p", port, "--no-auth-warning", "-a", secret)
		cmd.Stdin = strings.NewReader(strings.Join([]string{
			"INCR shop:orders", "INCRBY shop:orders 10", "GET shop:orders", "TTL orders", "GET nothing", "INCR few",
			"INCR nothing", "EXPIRE orders 60", "SET orders 1", "DECR orders",
			"MULTI", "INCR strict", "INCRBY strict 2", "INCR nothing", "GET strict", "EXEC",
		}, "\n"))
		text := tests.Run(t, cmd)
		for _, want := range []string{
			"NOSEQUENCE", "never begin again", "--start N", "--step -1", "QUEUED\nQUEUED\nQUEUED\nQUEUED\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", version, want, text)
			}
		}
		first := map[string]string{"-2": "1000\n1010\n1010\n-1\n", "-3": "1011\n1021\n1021\n-1\n"}[version]
		last := map[string]string{"-2": "1\n3\n", "-3": "4\n6\n"}[version]
		if !strings.HasPrefix(text, first) || !strings.Contains(text, last) {
			t.Errorf("%s: no %q and %q in\n%s", version, first, last, text)
		}
	}
}

// The pipeline of redis-py sends MULTI and EXEC by itself.
func TestRedisPyCounts(t *testing.T) {
	python := servers.Need(t, "redis-py", "/usr/bin/python3")[0]
	s := serve(t, sequences(t))
	host, port, _ := strings.Cut(s.resp, ":")
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("python", "counts.py"), host, port, secret)
	tests.Run(t, cmd)
}

func TestIORedisCounts(t *testing.T) {
	s := serve(t, sequences(t))
	runNode(t, "counts.mjs", s.resp)
}

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
