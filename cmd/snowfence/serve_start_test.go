package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A misspelled variable, a namespace that does not exist, and lines that
// are no JSON: the server said "ready, try curl" in plain text.
func TestServeSaysWhatIsMissingInJSON(t *testing.T) {
	s := serveProcess(t, "", "--log-json", "--ready-for", "orders")
	s.cmd.Env = append(s.cmd.Env, "SNOWFENCE_MAXWAIT=3s", "SNOWFENCE_PORT_8080_TCP=x", "SNOWFENCE_LAYOUT=twitter")
	var all strings.Builder
	s.heard = func(line string) {
		all.WriteString(line + "\n")
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	s.start()
	s.waitFor("of ready-for does not exist")
	s.signal(syscall.SIGTERM)
	noError(t, s.wait())
	text := all.String()
	if strings.Count(text, "means nothing") != 1 || !strings.Contains(text, "SNOWFENCE_MAXWAIT means nothing") {
		t.Error(text)
	}
	if !strings.Contains(text, "snowfence namespace create orders") {
		t.Error(text)
	}
}

// A server that could not start said so in plain text, which its reader of
// JSON passed over.
func TestStartErrorsAreJSON(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "serve.yaml")
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, c := range []struct {
		args []string
		env  string
	}{
		{[]string{"--log-json", "--nonsense"}, ""},
		{[]string{"--nonsense"}, "SNOWFENCE_LOG_JSON=true"},
		{[]string{"--log-json", "--ttl", "x"}, ""},
		{[]string{"--log-json", "--config", "none.yaml"}, ""},
		{[]string{"--log-json", "--block", "3"}, ""},
		{[]string{"--log-json", "--store", "nothing:"}, ""},
		{[]string{"--log-json", "--store", "sqlite:" + t.TempDir() + "/none/ids.db"}, ""},
		{[]string{"--log-json", "--store", "mem:", "--http", "127.0.0.1:99999"}, ""},
		{[]string{"--config", file("http: [1\n"), "--log-json"}, ""},
		{[]string{"--config", file("block: x\nlog-json: true\n")}, ""},
	} {
		cmd := exec.Command("snowfence", append([]string{"serve"}, c.args...)...)
		cmd.Env = append(os.Environ(), c.env)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), `"level":"ERROR"`) {
			t.Errorf("%q: %v\n%s", c.args, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%q: no JSON: %s", c.args, line)
			}
		}
	}
}
