package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A misspelled variable, a namespace that does not exist, and lines that are no JSON: the server
// said "ready, try curl" in plain text.
func TestServeSaysWhatIsMissingInJSON(t *testing.T) {
	cmd := exec.Command("snowfence", "serve", "--store", "sqlite:"+t.TempDir()+"/ids.db", "--http", "127.0.0.1:0",
		"--resp", "", "--log-json", "--ready-for", "orders")
	cmd.Env = append(os.Environ(), "SNOWFENCE_MAXWAIT=3s", "SNOWFENCE_PORT_8080_TCP=x", "SNOWFENCE_LAYOUT=twitter")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	var all strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := lines.Text()
		all.WriteString(line + "\n")
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
		if strings.Contains(line, "of ready-for does not exist") {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	text := all.String()
	if strings.Count(text, "means nothing") != 1 || !strings.Contains(text, "SNOWFENCE_MAXWAIT means nothing") {
		t.Error(text)
	}
	if !strings.Contains(text, "snowfence namespace create orders") {
		t.Error(text)
	}
}
