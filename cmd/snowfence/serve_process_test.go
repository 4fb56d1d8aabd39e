package main

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// SIGHUP ended the server. It reads the file of settings again, and a bad one changes nothing.
func TestServeReadsSettingsAgain(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "serve.yaml")
	write := func(text string) {
		t.Helper()
		text = "store: sqlite:" + dir + "/ids.db\nhttp: 127.0.0.1:0\nresp: ''\n" + text
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("log-json: true\n")
	cmd := exec.Command("snowfence", "serve", "--config", config, "--label", "mine", "--ready-for", "default")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(stderr)
	waitFor := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the program ended before it said %q", text)
	}
	waitFor("IDs are unique")
	for _, step := range []struct{ file, want string }{
		{"log-json: true\nnonsense: 1\n", "there is no such setting"},
		{"log-json: true\nlabel: other\nttl: 1h\n", `"settings":["ttl"]`}, // the flag keeps the label
		{"log-json: true\nlog-debug: true\n", "settings read again"},
	} {
		write(step.file)
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		waitFor(step.want)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// To see more of a server, people had to restart it, and what they looked for was gone.
func TestLogLevelChangesAtRunTime(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "serve.yaml")
	write := func(text string) {
		t.Helper()
		text = "store: sqlite:" + dir + "/ids.db\nhttp: 127.0.0.1:0\nresp: ''\n" + text
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	cmd := exec.Command("snowfence", "serve", "--config", config)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	lines, url, refused := bufio.NewScanner(stderr), "", 0
	waitFor := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), "level=DEBUG msg=\"a request failed\"") {
				refused++
			}
			if _, try, ok := strings.Cut(lines.Text(), "try: curl "); ok {
				url = try
			}
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the program ended before it said %q", text)
	}
	waitFor("IDs are unique")
	for _, c := range []struct {
		file string
		want int // lines of the request that is refused
	}{{"", 0}, {"log-debug: true\n", 1}, {"log-debug: false\n", 0}} {
		write(c.file)
		for range 2 { // a reload says so before the level changes; the second one begins after that
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			waitFor("settings read again")
		}
		refused = 0
		res, err := http.Get(url + "?n=0")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		waitFor("settings read again") // behind what the request left
		if refused != c.want {
			t.Errorf("%q: %d lines of a request, want %d", c.file, refused, c.want)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// The first SIGTERM begins a stop that may take long, the second one ends the program at once.
func TestServeTwoSignals(t *testing.T) {
	cmd := exec.Command("snowfence", "serve", "--store", "sqlite:"+t.TempDir()+"/ids.db", "--http", "127.0.0.1:0",
		"--resp", "", "--drain", "1h")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(stderr)
	waitFor := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the program ended before it said %q", text)
	}
	waitFor("IDs are unique")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitFor("stopping")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the program ended with %v", err)
	}
}
