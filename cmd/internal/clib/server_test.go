//go:build unix

package clib

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/agent"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/sequence"
)

const patience = time.Minute

func stop(t *testing.T, p interface{ Stop(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	noError(t, p.Stop(ctx))
}

// startAgent starts an agent over a store with the namespace jobs, on a
// socket.
func startAgent(t *testing.T, st store.Store, s *snowfence.Scheme, socket string) *serve.Process {
	t.Helper()
	c := serve.Config{
		Listeners: serve.Listeners{HTTP: "unix:" + socket}, ReadyFor: []string{"jobs"},
		Options: server.Options{Logger: slog.New(slog.DiscardHandler)},
	}
	a := must(agent.New(t.Context(), &c, lease.Serve(st, s, nil), "jobs", remote.Namespace{
		Layout: s.Layout(), Unit: 16, MaxTTL: scope.DefaultTTL,
	}))
	return must(serve.Start(t.Context(), c, a.Store))
}

// A program leases its node from the agent of its host, and goes on while
// the agent is unreachable.
func TestAgent(t *testing.T) {
	s := must(snowfence.NewScheme(snowfence.Default()))
	st := store.NewMemory()
	must(scope.Namespaces(st).Create(t.Context(), "jobs", s, &scope.NamespaceOptions{Unit: 16}))
	socket := filepath.Join(t.TempDir(), "s")
	l := newLibrary()
	_, err := l.Open("unix:"+socket, "jobs", "")
	wantStatus(t, err, Store)
	a := startAgent(t, st, s, socket)
	t.Setenv("SNOWFENCE_STORE", "unix:"+socket)
	var handles []Handle
	for _, url := range []string{"unix:" + socket, ""} {
		h := must(l.Open(url, "jobs", "layout=default,wait=1m"))
		handles = append(handles, h)
	}
	for options, want := range map[string]string{"layout=twitter": "leave out the layout", "node=40": "node"} {
		_, err := l.Open("", "jobs", options)
		wantStatus(t, err, Invalid)
		says(t, err, want, "%s", options)
	}
	_, err = l.Open("", "other", "")
	wantStatus(t, err, Invalid)
	stop(t, a)
	seen := map[snowfence.ID]bool{}
	for range 100 {
		for _, h := range handles {
			id, err := l.Next(h)
			if err != nil || seen[id] {
				t.Fatalf("%d: %v", id, err)
			}
			seen[id] = true
		}
	}
	again := startAgent(t, st, s, socket)
	defer stop(t, again)
	for _, h := range handles {
		_ = l.Close(h) // its agent has ended
	}
	h, err := l.Open("", "jobs", "wait=1m")
	wantStatus(t, err, OK)
	if id, err := l.Next(h); err != nil || seen[id] {
		t.Errorf("%d: %v", id, err)
	}
	wantStatus(t, l.Close(h), OK)
}

// A server of the network leases nodes, hands out its secrets, and has
// sequences.
func TestServer(t *testing.T) {
	st, secret := store.NewMemory(), snowfence.GenerateSecret()
	s, err := snowfence.NewScheme(snowfence.MustLayout("randflake"), secret)
	noError(t, err)
	must(scope.Namespaces(st).Create(t.Context(), "public", s, nil))
	for name, pattern := range map[string]string{"bills": "", "orders": "RE-{year}-{n:6}"} {
		noError(t, sequence.Create(t.Context(), st, name, sequence.Definition{Pattern: pattern}))
	}
	c := serve.Config{Listeners: serve.Listeners{HTTP: "127.0.0.1:0"}}
	c.Keys = func(string) ([]*snowfence.Secret, error) { return []*snowfence.Secret{secret}, nil }
	p := must(serve.Start(t.Context(), c, st))
	defer stop(t, p)
	key := filepath.Join(t.TempDir(), "key")
	noError(t, os.WriteFile(key, secret.AppendSecret(nil), 0o600))
	url := "http://127.0.0.1:1,http://" + p.HTTP // the first does not answer
	l := newLibrary()
	h := must(l.Open(url, "public", "secret-file="+key))
	must(l.Next(h))
	wantStatus(t, l.Close(h), OK)
	h, err = l.OpenSequence(url, "bills")
	wantStatus(t, err, OK)
	if n, err := l.NextNumber(h); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	wantStatus(t, l.CloseSequence(h), OK)
	h, err = l.OpenSequence(url, "orders")
	wantStatus(t, err, OK)
	buf := make([]byte, serialRoom)
	if n, err := l.NextSerial(h, buf); err != nil || !strings.HasSuffix(string(buf[:n]), "-000001") {
		t.Errorf("%s, %v", buf[:n], err)
	}
	wantStatus(t, l.CloseSequence(h), OK)
	_, err = l.OpenSequence(url, "none")
	wantStatus(t, err, Invalid)
	_, err = l.Open("http://user:word@host", "", "")
	wantStatus(t, err, Invalid)
	if err == nil || strings.Contains(err.Error(), "word") || !strings.Contains(TextOf(err), tokenEnv) {
		t.Errorf("%v", err)
	}
	path, sent := filepath.Join(t.TempDir(), "token"), ""
	t.Setenv(tokenEnv, path)
	asked := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
	}))
	asked.Config.Protocols = new(http.Protocols)
	asked.Config.Protocols.SetUnencryptedHTTP2(true)
	asked.Start()
	defer asked.Close()
	noError(t, os.WriteFile(path, []byte("one\n"), 0o600))
	client := must(dial(asked.URL))
	noError(t, os.WriteFile(path, []byte("two\n"), 0o600)) // it is read before each request
	if _, err = client.Namespace(t.Context(), "public"); sent != "Bearer two" {
		t.Errorf("the token of a replaced file: %q, %v", sent, err)
	}
	noError(t, client.Close())
	noError(t, os.Remove(path))
	_, err = l.Open(url, "public", "")
	wantStatus(t, err, Invalid)
}
