package wires

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// The Go client as it is used between machines: TLS with an authority of
// one's own, a token, and three addresses, of which the first is unused,
// and the server at the second is killed while IDs are made and leases
// renewed. Every ID is made once, and neither the generator nor the source
// fails.
func TestRemote(t *testing.T) {
	certs := servers.NewCerts(t)
	secure := certs.Client()
	store := "sqlite:" + filepath.Join(t.TempDir(), "remote.db")
	plain := serve(t, store)
	if code, body := plain.do(t, "PUT", "/v1/default", "{}"); code != 200 { // the server made it
		t.Fatal(code, body)
	}
	plain.Kill()
	overTLS := &http.Client{Transport: &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}}
	start := func() *served {
		return serveWith(t, store, "https", overTLS, "--tls-cert", certs.Cert, "--tls-key", certs.Key)
	}
	dying, staying := start(), start()
	unused := servers.Address(servers.Ports(t, 1)[0])
	addresses := []string{"https://" + unused, "https://" + dying.http, "https://" + staying.http}
	o := remote.Options{Token: secret, TLS: secure, Timeout: time.Minute} // a busy machine answers late
	dial := func(change func(o *remote.Options)) *remote.Client {
		with := o
		change(&with)
		c, err := remote.Dial(addresses, &with)
		must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	_, err := dial(func(o *remote.Options) { o.Token = "wrong-" + secret }).Scheme(t.Context(), "default")
	if err == nil || !strings.Contains(err.Error(), "unauthenticated") || strings.Contains(err.Error(), secret) {
		t.Errorf("a wrong token: %v", err)
	}
	_, err = dial(func(o *remote.Options) { o.TLS = nil }).Scheme(t.Context(), "default")
	if err == nil || !strings.Contains(err.Error(), "certificate") || strings.Contains(err.Error(), secret) {
		t.Errorf("an authority that is not known: %v", err)
	}

	c := dial(func(*remote.Options) {})
	scheme, err := c.Scheme(t.Context(), "default")
	must(t, err)
	patient := snowfence.Config{MaxWait: time.Minute}
	l, err := c.Lease(t.Context(), "default", scheme, &lease.Options{TTL: 3 * time.Second, Label: "remote"})
	must(t, err)
	g, err := l.Generator(patient)
	must(t, err)
	s, err := c.Source("default", &remote.SourceOptions{Batch: 50, MaxAge: time.Minute})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	callers := &fleet.Callers{TB: t}
	callers.Ask(ctx, fleet.One(g.Next))
	callers.Ask(ctx, fleet.One(s.Next))
	callers.GoOn("IDs come")
	until, _ := g.Grant()
	dying.Kill()
	callers.GoOn("IDs come from the server that is left")
	fleet.Eventually(t, "the lease is renewed by the server that is left", func() error {
		if now, _ := g.Grant(); now.Until <= until.Until {
			return errors.New("no")
		}
		return nil
	})
	callers.GoOn("IDs come after the renewal")
	cancel()
	callers.Wait()
	must(t, g.Close())
	s.Close()
	tests.WantErr(t, tests.ErrOf(s.Next(t.Context())), snowfence.ErrClosed, "after Close")
}

// TestRemoteHints does what the errors of Dial say.
func TestRemoteHints(t *testing.T) {
	server := serve(t, "mem:")
	_, err := remote.Dial(nil, nil)
	tests.Says(t, err, "give at least one address, as in http://127.0.0.1:8080", "no address")
	tests.Fails(t, tests.ErrOf(remote.Dial([]string{"http://" + server.http}, &remote.Options{Timeout: -1})),
		"a negative timeout was accepted")
	for _, wrong := range []string{server.http, "http://" + secret + "@" + server.http} {
		_, err = remote.Dial([]string{wrong}, nil)
		if err == nil || !strings.Contains(err.Error(),
			"write it as http://host:port, https://host:port or unix:/path, and give the token in Options.Token") ||
			strings.Contains(err.Error(), secret) {
			t.Fatal(err)
		}
	}
	c, err := remote.Dial([]string{"http://" + server.http}, &remote.Options{Token: secret, Timeout: time.Minute})
	must(t, err)
	defer c.Close()
	g, err := c.Open(t.Context(), nil)
	must(t, err)
	defer g.Close()
	must(t, tests.ErrOf(g.Next(t.Context())))
}
