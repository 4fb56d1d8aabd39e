package main

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is "snowfence serve" as a process.
type served struct {
	*testing.T
	cmd    *exec.Cmd
	config string // file of settings
	lines  *bufio.Scanner
	heard  func(line string) // each line of its log; or nil
}

// serveProcess starts a server over HTTP with lines in its file of
// settings.
func serveProcess(t *testing.T, settings string, args ...string) *served {
	t.Helper()
	s := &served{T: t, config: filepath.Join(t.TempDir(), "serve.yaml")}
	s.write(settings)
	s.cmd = exec.Command("snowfence", append([]string{"serve", "--config", s.config}, args...)...)
	s.cmd.Env = os.Environ()
	return s
}

func (s *served) write(settings string) {
	s.Helper()
	text := "store: sqlite:" + filepath.Dir(s.config) + "/ids.db\nhttp: 127.0.0.1:0\nresp: ''\n" + settings
	noError(s, os.WriteFile(s.config, []byte(text), 0o600))
}

func (s *served) start() {
	s.Helper()
	stderr := must(s.cmd.StderrPipe())
	noError(s, s.cmd.Start())
	stuck := time.AfterFunc(2*time.Minute, func() { _ = s.cmd.Process.Kill() })
	s.Cleanup(func() { stuck.Stop() })
	s.lines = bufio.NewScanner(stderr)
}

// waitFor reads the log until it has had all texts, in any order.
func (s *served) waitFor(texts ...string) {
	s.Helper()
	for len(texts) > 0 && s.lines.Scan() {
		if s.heard != nil {
			s.heard(s.lines.Text())
		}
		texts = slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(s.lines.Text(), text) })
	}
	if len(texts) > 0 {
		s.Fatalf("the program ended before it said %q", texts)
	}
}

func (s *served) signal(which os.Signal) {
	s.Helper()
	noError(s, s.cmd.Process.Signal(which))
}

// wait reads the rest of the log and returns how the program ended.
func (s *served) wait() error {
	for s.lines.Scan() {
		if s.heard != nil {
			s.heard(s.lines.Text())
		}
	}
	return s.cmd.Wait()
}

// SIGHUP ended the server. It reads the file of settings again, and a bad
// one changes nothing.
func TestServeReadsSettingsAgain(t *testing.T) {
	s := serveProcess(t, "log-json: true\n", "--label", "mine", "--ready-for", "default")
	s.start()
	s.waitFor("IDs are unique")
	for _, step := range []struct{ file, want string }{
		{"log-json: true\nnonsense: 1\n", "there is no such setting"},
		{"log-json: true\nlabel: other\nttl: 1h\n", `"settings":["ttl"]`}, // the flag keeps the label
		{"log-json: true\nlog-debug: true\n", "settings read again"},
	} {
		s.write(step.file)
		s.signal(syscall.SIGHUP)
		s.waitFor(step.want)
	}
	s.signal(syscall.SIGTERM)
	wantErr(t, s.wait(), nil, "the program ended")
}

// To see more of a server, people had to restart it, and what they looked
// for was gone.
func TestLogLevelChangesAtRunTime(t *testing.T) {
	s := serveProcess(t, "")
	url, refused := "", 0
	s.heard = func(line string) {
		if strings.Contains(line, "level=DEBUG msg=\"a request failed\"") {
			refused++
		}
		if _, try, ok := strings.Cut(line, "try: curl "); ok {
			url = try
		}
	}
	s.start()
	s.waitFor("IDs are unique")
	for _, c := range []struct {
		file string
		want int // lines of the request that is refused
	}{{"", 0}, {"log-debug: true\n", 1}, {"log-debug: false\n", 0}} {
		s.write(c.file)
		for range 2 { // a reload says so before the level changes; the second one begins after that
			s.signal(syscall.SIGHUP)
			s.waitFor("settings read again")
		}
		refused = 0
		res := must(http.Get(url + "?n=0"))
		res.Body.Close()
		s.signal(syscall.SIGHUP)
		s.waitFor("settings read again") // behind what the request left
		if refused != c.want {
			t.Errorf("%q: %d lines of a request, want %d", c.file, refused, c.want)
		}
	}
	s.signal(syscall.SIGTERM)
	wantErr(t, s.wait(), nil, "the program ended")
}

// The first SIGTERM begins a stop that may take long, the second one ends
// the program at once.
func TestServeTwoSignals(t *testing.T) {
	s := serveProcess(t, "drain: 1h\n")
	s.start()
	s.waitFor("IDs are unique")
	s.signal(syscall.SIGTERM)
	s.waitFor("stopping")
	go repeatSignal(s.cmd.Process)
	var exit *exec.ExitError
	if err := s.wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the program ended with %v", err)
	}
}

// repeatSignal sends SIGTERM until the program has ended: one that comes
// with the first counts as the first.
func repeatSignal(p *os.Process) {
	for p.Signal(syscall.SIGTERM) == nil {
		time.Sleep(50 * time.Millisecond)
	}
}

// A server whose store does not answer listens, says what to do, and stops
// when it is told to.
func TestServeWaitsForItsStore(t *testing.T) {
	s := serveProcess(t, "", "--store", "redis://127.0.0.1:1")
	s.start()
	s.waitFor("HTTP, gRPC and Connect on", "connection refused: start the store, or correct --store")
	s.signal(syscall.SIGTERM)
	wantErr(t, s.wait(), nil, "the program ended")
}

// Clients took all files that the system allows, so that no probe got an
// answer.
func TestFilesAreKeptForHealth(t *testing.T) {
	s := serveProcess(t, "", "--resp", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	s.cmd.Args = append([]string{"sh", "-c", `ulimit -n 200 && exec "$@"`, "sh"}, s.cmd.Args...)
	s.cmd.Path = "/bin/sh"
	const web, resp, admin = "gRPC and Connect on http://", "Redis protocol on ", "metrics and health on http://"
	said := map[string]string{}
	s.heard = func(line string) {
		for _, what := range []string{web, resp, admin} {
			if _, rest, ok := strings.Cut(line, what); ok {
				said[what], _, _ = strings.Cut(rest, " ")
			}
		}
	}
	s.start()
	s.waitFor("IDs are unique")
	var clients []net.Conn
	for _, what := range []string{web, resp} {
		for i := range 200 {
			c := must(net.Dial("tcp", said[what]))
			clients = append(clients, c)
			if i == 199 { // it is told that there are too many
				must(c.Read(make([]byte, 1)))
			}
		}
	}
	for range 20 {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		res := must(client.Get("http://" + said[admin] + "/healthz"))
		res.Body.Close()
	}
	for _, c := range clients {
		c.Close()
	}
	s.signal(syscall.SIGTERM)
	noError(t, s.wait())
}
