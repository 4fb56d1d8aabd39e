// Package wires runs the server as it is built, and talks to it as users
// do: with the clients of Redis in several languages, over servers that are
// killed.
package wires

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

const secret = "wires-secret-of-the-test"

// served is a running server.
type served struct {
	*servers.Process
	http, resp string
}

// serve starts a server over a store, with one token that may do
// everything.
func serve(t *testing.T, store string) *served {
	return serveWith(t, store, "http", http.DefaultClient)
}

// serveWith is serve with more arguments, for clients that speak a scheme.
func serveWith(t *testing.T, store, scheme string, client *http.Client, args ...string) *served {
	t.Helper()
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens.yaml")
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))
	must(t, os.WriteFile(tokens, []byte("tokens:\n- name: all\n  sha256: "+sum+
		"\n  verbs: [ids, read, lease, manage]\n"), 0o600))
	ports := servers.Ports(t, 2)
	s := &served{http: servers.Address(ports[0]), resp: servers.Address(ports[1])}
	s.Process = servers.Start(t, "snowfence", servers.Program(t, servers.Snowfence), append([]string{
		"serve", "--store", store, "--http", s.http,
		"--resp", s.resp, "--tokens", tokens, "--max-wait", "1m", // a busy disk answers late
	}, args...), []string{"HOME=" + dir})
	s.Ready(t, func() error {
		_, _, err := servers.Ask(t.Context(), client, http.MethodGet, scheme+"://"+s.http+"/healthz", "")
		if err != nil {
			return err
		}
		c, err := net.Dial("tcp", s.resp) // it listens later
		if err != nil {
			return err
		}
		return c.Close()
	})
	return s
}

func (s *served) do(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status, text, err := servers.Ask(ctx, http.DefaultClient, method, "http://"+s.http+path, body,
		"Authorization: Bearer "+secret, "Content-Type: application/json")
	if status == 0 {
		t.Fatal(err)
	}
	return status, text
}

// one starts a server with an embedded file, which has the namespace
// default.
func one(t *testing.T) *served {
	s := serve(t, "sqlite:"+filepath.Join(t.TempDir(), "wires.db"))
	if code, body := s.do(t, "PUT", "/v1/default", "{}"); code != 200 { // the server made it
		t.Fatal(code, body)
	}
	return s
}

func TestRedisCLI(t *testing.T) {
	cli := servers.Need(t, "redis", "redis-cli")[0]
	s := one(t)
	_, port, _ := strings.Cut(s.resp, ":")
	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(),
			cli, append([]string{"-p", port, "--no-auth-warning", "-a", secret}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		return strings.TrimSpace(tests.Run(t, cmd))
	}
	for _, version := range []string{"-2", "-3"} {
		if id, err := strconv.ParseInt(run("", version, "SNOWFENCE.NEXT", "default"), 10, 64); err != nil || id <= 0 {
			t.Errorf("%d, %v", id, err)
		}
		if got := run("", version, "SNOWFENCE.DECODE", "default", "249887800817025024"); !strings.Contains(got,
			"2026-11-21T13:24:54.405Z") {
			t.Error(got)
		}
		if lines := strings.Count(run("", version, "SNOWFENCE.NEXT", "default", "COUNT", "1000"), "\n"); lines != 999 {
			t.Errorf("%d line ends of 1000 IDs", lines)
		}
	}
	if got := run("PING\nSNOWFENCE.NEXT nowhere\nWATCH x\nSELECT 1\nINFO\nQUIT\n"); !strings.HasPrefix(got, "PONG") ||
		!strings.Contains(got, "NONAMESPACE") || !strings.Contains(got, "nothing to watch") ||
		!strings.Contains(got, "out of range") || !strings.Contains(got, "snowfence_version") {
		t.Error(got)
	}
	if got := run("", "-a", "wrong", "PING"); !strings.Contains(got, "WRONGPASS") && !strings.Contains(got, "NOAUTH") {
		t.Error(got)
	}
}

// redisClient asks each command once: a command that is sent twice takes
// two numbers.
func redisClient(t *testing.T, address, password string) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address}, Password: password, ConnWriteTimeout: time.Minute,
		DisableCache: true, DisableRetry: true, ClientName: "wires",
	})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestRueidis(t *testing.T) {
	s := one(t)
	c := redisClient(t, s.resp, secret)
	cmds := make(rueidis.Commands, 1000)
	for i := range cmds {
		cmds[i] = c.B().Arbitrary("SNOWFENCE.NEXT").Args("default").Build()
	}
	seen := map[string]bool{}
	for _, r := range c.DoMulti(t.Context(), cmds...) {
		id, err := r.ToString()
		must(t, err)
		seen[id] = true
	}
	if len(seen) != len(cmds) {
		t.Errorf("%d IDs", len(seen))
	}
	m, err := c.Do(t.Context(),
		c.B().Arbitrary("SNOWFENCE.DECODE").Args("default", "249887800817025024").Build()).AsMap()
	if node := m["node"]; err != nil || node.String() == "" {
		t.Errorf("%v, %v", m, err)
	}
}

func TestIORedis(t *testing.T) { runNode(t, "ids.mjs", one(t).resp) }

// runNode runs a program of the folder node against a server.
func runNode(t *testing.T, script, address string) {
	t.Helper()
	programs := servers.Need(t, "node", "node", "npm")
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", script} {
		b, err := os.ReadFile(filepath.Join("node", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		must(t, err)
	}
	host, port, _ := strings.Cut(address, ":")
	for _, args := range [][]string{
		{programs[1], "ci", "--no-audit", "--no-fund", "--ignore-scripts"},
		{programs[0], script, host, port, secret},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		tests.Run(t, cmd)
	}
}
