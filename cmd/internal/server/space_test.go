package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/wire"
)

// Two servers of two data centers made IDs of the same one: --within keeps
// each to its own, in layouts that have data centers.
func TestWithinOfAServer(t *testing.T) {
	t.Setenv("ZONE", "5")
	for within, nodes := range map[string][2]int64{
		"datacenter=3": {96, 127}, "datacenter=env:ZONE": {160, 191},
		"datacenter=7,worker=9": {233, 233}, "30-33": {30, 33},
	} {
		st := newStore(t, "zones") // of Twitter's layout
		create(t, st, "flat", "snowfence")
		s := newService(t, st, Options{Within: within})
		id := must(s.one(t.Context(), "zones"))
		if node := int64(id) >> 12 & 1023; node < nodes[0] || node > nodes[1] {
			t.Errorf("%s: node %d", within, node)
		}
		wantErr(t, errOf(s.one(t.Context(), "flat")), nil, "%s: a layout without data centers", within)
	}
	s := newService(t, newStore(t, "zones"), Options{Within: "worker=3"})
	says(t, errOf(s.one(t.Context(), "zones")), "datacenter stands above it", "nodes that are no range")
}

// Where leases of others leave no long block free, the server takes a
// shorter one, unless the length was asked for.
func TestShorterBlock(t *testing.T) {
	const ttl = 10 * time.Minute // no lease ends, however slow the machine is
	st := newStore(t, "n")
	scheme := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	for first := int64(0); first < 1024; first += 16 { // of each 16, the first 4 stay free and the last 8
		node := first + 4
		r := wire.Request{Node: &node, Label: "other", TTL: ttl}
		must(lease.Serve(st, scheme, nil).Acquire(t.Context(), "n", r))
	}
	_, err := newService(t, st, Options{Block: 16, TTL: ttl}).one(t.Context(), "n")
	if !errors.As(err, new(*lease.TakenError)) {
		t.Errorf("16 nodes, asked for: %v", err)
	}
	for range 64 {
		s := newService(t, st, Options{TTL: ttl})
		must(s.one(t.Context(), "n"))
	}
	if n := held(t, st, "n"); n != 64+64*8 {
		t.Errorf("%d nodes are held", n)
	}
	s := newService(t, st, Options{TTL: ttl})
	wantErr(t, errOf(s.one(t.Context(), "n")), nil, "with blocks of 4 left")
	if n := held(t, st, "n"); n != 64+64*8+4 {
		t.Errorf("%d nodes are held", n)
	}
}

// A caller that left took nodes that nobody had then, each time others.
func TestCallersThatLeave(t *testing.T) {
	st, s := scripted(t, "n")
	must(scope.Namespaces(st).Create(t.Context(), "u", scheme(t, "twitter"), &scope.NamespaceOptions{Unit: 8}))
	var leave atomic.Value
	st.end = func([]error) { leave.Load().(context.CancelFunc)() }
	id := limited(t, 0, VerbLease)
	one := func(ctx context.Context) error { return errOf(s.one(ctx, "n")) }
	take := func(ctx context.Context) error {
		_, _, err := s.Leases.Acquire(ctx, id, "u", wire.Request{Label: "x", Attempt: rand.Text()})
		return err
	}
	for range 5 {
		for _, do := range []func(context.Context) error{one, take} {
			ctx, cancel := context.WithCancel(t.Context())
			leave.Store(cancel)
			_ = do(ctx)
		}
	}
	noError(t, one(t.Context()), take(t.Context()))
	if n, units := held(t, st, "n"), held(t, st, "u"); n != 16 || units != 1 {
		t.Errorf("%d nodes and %d units are held", n, units)
	}
}

// A caller without the right to read leases learned the labels of others
// from an error.
func TestNoNodesHidesHolders(t *testing.T) {
	st := newStore(t)
	create(t, st, "n", "time=41,node=1,seq=12")
	s := newService(t, st, Options{})
	for range 2 {
		if _, _, err := s.Leases.Acquire(t.Context(), Open().Anyone(), "n", wire.Request{Label: "secret"}); err != nil {
			t.Fatal(err)
		}
	}
	node := int64(1)
	for _, r := range []wire.Request{{Label: "x"}, {Label: "x", Node: &node, Guard: true}} {
		for hidden, verbs := range map[bool][]Verb{true: {VerbLease}, false: {VerbLease, VerbRead}} {
			id := tokensOf(t, Token{Name: "shop", SHA256: sum("1"), Verbs: verbs}).tokens[0]
			_, _, err := s.Leases.Acquire(t.Context(), id, "n", r)
			if KindOf(err) != NoNodes || strings.Contains(err.Error(), "secret") == hidden {
				t.Errorf("%v, %+v: %v", verbs, r, err)
			}
		}
	}
	if _, err := s.one(t.Context(), "n"); KindOf(err) != NoNodes || strings.Contains(err.Error(), "secret") {
		t.Errorf("an ID: %v", err)
	}
}

// What is wrong with the server or its store is a warning, once in a while
// with how often it was; what is wrong with a request is a line for those
// who log more; what went well is none.
func TestRequestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := func(level slog.Level, use func(*Service)) []string {
			var log bytes.Buffer
			h := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})
			use(newService(t, newStore(t), Options{Logger: slog.New(h)}))
			return strings.Split(strings.TrimSpace(log.String()), "\n")
		}
		about := func() Request {
			return Request{Name: "GET /v1/{namespace}/next", Namespace: "orders", Caller: "shop", From: "192.0.2.1:5"}
		}
		away := fmt.Errorf("reading: %w", errors.New("the store is unreachable"))
		use := func(s *Service) {
			for range 1000 {
				s.Failed(HTTP, away, about)
			}
			time.Sleep(logInterval)
			s.Failed(HTTP, away, about)
			s.Failed(RESP, away, func() Request { return Request{} })
			s.Failed(HTTP, lease.ErrNoNamespace, about)
			s.Answered(RPC, 1, 1999*time.Millisecond, about)
			s.Answered(RPC, 1, 2*time.Second, about)
			s.Answered(RPC, 1, 2*time.Second, about)
		}
		got := lines(slog.LevelInfo, use)
		want := []string{
			`level=WARN msg="a request failed" kind=unavailable cause="reading: the store is unreachable" wire=http request="GET /v1/{namespace}/next" namespace=orders token=shop from=192.0.2.1:5`,
			`level=WARN msg="a request failed" kind=unavailable cause="reading: the store is unreachable" wire=http request="GET /v1/{namespace}/next" namespace=orders token=shop from=192.0.2.1:5 others=999`,
			`level=WARN msg="a request failed" kind=unavailable cause="reading: the store is unreachable" wire=resp request=""`,
			`level=WARN msg="a request was slow" took=2s wire=rpc request="GET /v1/{namespace}/next" namespace=orders token=shop from=192.0.2.1:5`,
		}
		if len(got) != len(want) {
			t.Fatalf("%d lines, not %d: %s", len(got), len(want), strings.Join(got, "\n"))
		}
		for i, line := range got {
			if _, line, _ = strings.Cut(line, " "); line != want[i] {
				t.Errorf("line %d is\n%s, not\n%s", i, line, want[i])
			}
		}
		if n := len(lines(slog.LevelDebug, use)); n != 1000+1+1+1+2 {
			t.Errorf("%d lines where more is logged", n)
		}
	})
}
