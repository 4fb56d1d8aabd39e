package main

import (
	"encoding/json"
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
