package dashboard

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// talkative is a store that can fail, and says where it is and who the
// server is to it when it does.
type talkative struct {
	*store.Memory
	err  error
	away atomic.Bool
}

func (s *talkative) Get(ctx context.Context, keys []store.Key) ([]store.Record, store.Reply, error) {
	if s.away.Load() {
		return nil, store.Reply{}, s.err
	}
	return s.Memory.Get(ctx, keys)
}

func (s *talkative) List(
	ctx context.Context, namespace string, nodes snowfence.NodeRange, limit int,
) ([]store.Record, store.Reply, error) {
	if s.away.Load() {
		return nil, store.Reply{}, s.err
	}
	return s.Memory.List(ctx, namespace, nodes, limit)
}

func (s *talkative) Heads(ctx context.Context) ([]store.Record, store.Reply, error) {
	if s.away.Load() {
		return nil, store.Reply{}, s.err
	}
	return s.Memory.Heads(ctx)
}

func (s *talkative) Swap(
	ctx context.Context, writes []store.Write, _ ...store.Key,
) ([]error, []store.Record, store.Reply) {
	if !s.away.Load() {
		return s.Memory.Swap(ctx, writes)
	}
	errs := make([]error, len(writes))
	for i := range errs {
		errs[i] = s.err
	}
	return errs, nil, store.Reply{}
}

// What the page is told of a store that is unreachable, of a lease that is
// not renewed, and of a namespace with a key, has nothing in it that is for
// the log alone.
func TestNothingSecret(t *testing.T) {
	const password, host, user, key, token = "hunter2-of-the-store", "db.example:5432", "ids-user",
		"00112233445566778899aabbccddeeff", "token-of-a-reader"
	st := &talkative{
		Memory: store.NewMemory(),
		err:    fmt.Errorf("dialing postgres://%s:%s@%s/ids: connection refused", user, password, host),
	}
	secret := must(snowfence.ParseSecret([]byte(key)))
	b := benchOver(t, st, server.Options{
		Label: "here", TTL: time.Second, Keys: func(string) ([]*snowfence.Secret, error) {
			return []*snowfence.Secret{secret}, nil
		},
	}, server.Token{Name: "reader", SHA256: hash(token)})
	t.Cleanup(func() { st.away.Store(false) }) // before the service ends
	hidden := &pb.CreateNamespaceRequest{Name: "hidden", Layout: "randflake"}
	must(b.service.Management.CreateNamespace(t.Context(), hidden))
	sp := must(b.service.Spaces.Find(t.Context(), "hidden"))
	must(sp.Own.Generator(t.Context()))
	var said strings.Builder
	b.follow(t, "/dashboard/api/watch?namespace=hidden", token, func(kind, data string) bool {
		fmt.Fprintln(&said, data)
		if kind == "cells" {
			st.away.Store(true)
		}
		return kind == "trouble"
	})
	saw := map[string]bool{}
	b.follow(t, "/dashboard/api/stream", token, func(kind, data string) bool {
		fmt.Fprintln(&said, data)
		saw["store"] = saw["store"] || kind == "store" && strings.Contains(data, `"away":true`)
		saw["trouble"] = saw["trouble"] || kind == "sample" && strings.Contains(data, `"trouble"`)
		return saw["store"] && saw["trouble"]
	})
	for _, path := range []string{
		"GET /dashboard/api/leases?namespace=hidden",
		"GET /dashboard/api/leases?namespace=other", "GET /dashboard/api/watch?namespace=other",
	} {
		method, path, _ := strings.Cut(path, " ")
		_, body := b.ask(t, method, path, token, "")
		fmt.Fprintln(&said, body)
	}
	_, body := b.ask(t, "POST", "/dashboard/api/decode", token, `{"text":"5","namespace":"hidden"}`)
	fmt.Fprintln(&said, body)
	text := said.String()
	if !strings.Contains(text, "the server's log says how") {
		t.Errorf("the page does not tell where the cause is: %s", text)
	}
	for _, what := range []string{password, host, user, "postgres:", key, token, hash(token)} {
		if i := strings.Index(text, what); i >= 0 {
			t.Errorf("the page is told %s: …%s", what, text[max(0, i-300):i])
		}
	}
}
