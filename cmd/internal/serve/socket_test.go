//go:build unix

package serve

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/remote"
)

// A server listens on sockets, for its user and group, and the file of a
// socket goes with it.
func TestSockets(t *testing.T) {
	dir := t.TempDir()
	http, redis := filepath.Join(dir, "http"), filepath.Join(dir, "redis")
	for _, path := range []string{http, http + newSocket} { // servers were killed
		ln := must(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))
		ln.SetUnlinkOnClose(false)
		noError(t, ln.Close())
	}
	c := Config{Listeners: Listeners{HTTP: "unix:" + http, RESP: "unix:" + redis}}
	p, _ := start(t, c, newStore(t))
	for _, path := range []string{http, redis} {
		if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o660 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	r := must(remote.Dial([]string{p.HTTP}, &remote.Options{Timeout: patienceOfTests}))
	defer r.Close()
	g := must(r.Open(t.Context(), nil))
	must(g.Next(t.Context()))
	noError(t, g.Close())
	conn := must(net.Dial("unix", redis))
	defer conn.Close()
	if got := newRESPClient(t, conn).ask("SNOWFENCE.NEXT default"); !strings.HasPrefix(got, "$") {
		t.Errorf("the Redis protocol: %s", got)
	}
	resp := Config{Listeners: Listeners{RESP: p.RESP}}
	for _, probed := range []Config{c, resp} {
		noError(t, Probe(t.Context(), probed, "/healthz"))
	}
	says(t, errOf(Start(t.Context(), c, newStore(t))), "another program listens on "+http, "a second one")
	ctx, cancel := context.WithTimeout(context.Background(), patienceOfTests)
	defer cancel()
	noError(t, p.Stop(ctx))
	for _, path := range []string{http, redis} {
		wantErr(t, errOf(os.Lstat(path)), fs.ErrNotExist, "%s is still there", path)
	}
	fails(t, Probe(t.Context(), c, "/healthz"), "it lives after its end")
}

// A socket replaces nothing but a socket, and says what is wrong with its
// path.
func TestWrongSockets(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	noError(t, os.WriteFile(file, []byte("mine"), 0o600))
	for path, want := range map[string]string{
		file:                                 "is no socket",
		filepath.Join(dir, "none", "s"):      "its folder is missing",
		"s":                                  "write its whole path",
		"":                                   "write its whole path",
		"/" + strings.Repeat("a", 2*maxPath): "take one of at most",
	} {
		says(t, errOf(Start(t.Context(), Config{Listeners: Listeners{HTTP: "unix:" + path}}, newStore(t))), want,
			"%s", path)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
		t.Errorf("the file has %q now: %v", data, err)
	}
}
