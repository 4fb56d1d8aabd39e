package dashboard

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// The page showed IDs while every second request failed.
func TestStreamTellsOfFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	about := func() server.Request { return server.Request{} }
	for range 3 {
		b.service.Failed(server.RESP, server.Errorf(server.Unavailable, "away"), about)
	}
	b.service.Failed(server.HTTP, server.Errorf(server.Invalid, "no number"), about)
	want := []failure{
		{Where: "http", Kind: "invalid", Minute: 1, Total: 1},
		{Where: "resp", Kind: "unavailable", Ours: true, Minute: 3, Total: 3},
	}
	told := false
	b.follow(t, "/dashboard/api/stream", "", func(kind, data string) bool {
		if kind != "sample" {
			return false
		}
		s := decodeJSON[sample](t, data)
		if s.Failures != nil && !told {
			told = true
			for i := range want { // the first sample may have them all before it
				want[i].Minute = s.Failures[i].Minute
			}
			if fmt.Sprint(s.Failures) != fmt.Sprint(want) {
				t.Errorf("%+v", s.Failures)
			}
			b.service.Failed(server.RESP, server.Errorf(server.Unavailable, "away"), about)
			return false
		}
		return told && s.Failed > 0 && s.Refused == 0 && s.Failures[1].Total == 4 && s.Failures[1].Minute >= 1
	})
	b.follow(t, "/dashboard/api/stream", "", func(kind, data string) bool {
		if kind != "history" {
			return false
		}
		h := decodeJSON[history](t, data)
		var failed float32
		for _, r := range h.Failed {
			failed += r
		}
		if len(h.Failed) != len(h.Times) || len(h.Refused) != len(h.Times) || failed == 0 {
			t.Errorf("%s", data)
		}
		return true
	})
}

// The page did not show which of several servers it is, when that began to
// run, and that it sends requests away. The reason can name namespaces, and
// is for those who see them all.
func TestStreamTellsWhichServerAndWhetherItIsReady(t *testing.T) {
	t.Parallel()
	b := newBench(
		t, server.Token{Name: "all", SHA256: hash("all")}, server.Token{
			Name: "some", SHA256: hash("some"), Namespaces: []string{"orders"},
			Verbs: []server.Verb{server.VerbRead, server.VerbManage},
		},
	)
	started := time.Now().Add(-time.Hour).Truncate(time.Second)
	var unready atomic.Pointer[error]
	b.d.cfg.Started = started
	b.d.sampler.mu.Lock()
	b.d.sampler.cfg.Ready = func() error {
		if err := unready.Load(); err != nil {
			return *err
		}
		return nil
	}
	b.d.sampler.mu.Unlock()
	for token, want := range map[string]string{"all": "hidden", "some": "the log of the server says why"} {
		unready.Store(nil)
		var states []readyState
		b.follow(t, "/dashboard/api/stream", token, func(kind, data string) bool {
			switch kind {
			case "hello":
				h := decodeJSON[hello](t, data)
				if h.Label != "here" || !h.Since.Equal(started) || h.Manage != (token == "some") {
					t.Errorf("%s", data)
				}
			case "ready":
				states = append(states, decodeJSON[readyState](t, data))
				err := errors.New(`namespace "hidden": no lease is held`)
				unready.Store(&err)
			}
			last := len(states) - 1
			return last >= 0 && !states[last].Ready
		})
		why := states[len(states)-1].Why
		if !strings.Contains(why, want) || token == "some" && strings.Contains(why, "hidden") {
			t.Errorf("%s: %+v", token, states)
		}
	}
}

// Each namespace tells how many of its nodes are held, of how many; other
// namespaces stay hidden.
func TestStreamCountsNodes(t *testing.T) {
	t.Parallel()
	b := newBench(t, server.Token{Name: "t", SHA256: hash("s"), Namespaces: []string{"orders"}})
	b.namespace(t, "orders", "twitter")
	b.namespace(t, "hidden", "twitter")
	hold(t, b, 64, "block")
	b.follow(t, "/dashboard/api/stream", "s", func(kind, data string) bool {
		if kind != "used" {
			return false
		}
		used := decodeJSON[map[string]nodeUsage](t, data)
		if _, ok := used["hidden"]; ok {
			t.Error("a token is told of a namespace that it is not for")
		}
		u := used["orders"]
		return u.Held == 64 && u.Leasable == 1024 && u.At > 0
	})
}

// hold leases nodes of orders in one block.
func hold(t *testing.T, b *bench, nodes int, label string) (first int64) {
	t.Helper()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	l := must(lease.Open(t.Context(), b.store, "orders", s, &lease.Options{Nodes: nodes, Label: label}))
	t.Cleanup(func() { _ = l.Close() })
	return l.Status().Grant.Node
}

// A server that held 64 nodes by one lease filled three pages of the list.
func TestBlockIsOneRow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.namespace(t, "orders", "twitter")
	first := hold(t, b, 64, "block")
	single := hold(t, b, 1, "single")
	ask := func(query string) leasePage {
		t.Helper()
		_, body := b.ask(t, "GET", "/dashboard/api/leases?namespace=orders&"+query, "", "")
		return decodeJSON[leasePage](t, body)
	}
	if page := ask("held=true&order=label"); page.Total != 2 || leaseOf(t, page.Rows[0]).Node != first ||
		page.Rows[0].Nodes != 64 || leaseOf(t, page.Rows[1]).Node != single || page.Rows[1].Nodes != 1 {
		t.Errorf("%+v", page)
	}
	for _, query := range []string{fmt.Sprint("find=", first+63), fmt.Sprint("node=", first+63), "find=BLOCK"} {
		page := ask(query)
		if len(page.Rows) != 1 || leaseOf(t, page.Rows[0]).Node != first || page.Rows[0].Nodes != 64 {
			t.Errorf("%s: %+v", query, page)
		}
	}
}

// The page said that an outage began when a page had looked first.
func TestOutageBeganBeforeAnybodyLooked(t *testing.T) {
	t.Parallel()
	st := &talkative{Memory: store.NewMemory(), err: errors.New("refused")}
	observed, latency := server.Observe(st, nil)
	b := &bench{service: server.New(store.Group(observed), server.Options{})}
	sm := newSampler(Config{Service: b.service, Latency: latency})
	look := func(later time.Duration) storeState {
		sm.takeSample(time.Now().Add(later))
		return sm.away
	}
	ping := func() { _ = b.service.Ping(t.Context()) }
	ping()
	if s := look(0); s.Away {
		t.Errorf("%+v", s)
	}
	st.away.Store(true)
	began := time.Now()
	ping()
	after := time.Now()
	ping()
	s := look(0)
	if !s.Away || s.Since < began.UnixMilli() || s.Since > after.UnixMilli() || s.Cause == "" {
		t.Errorf("%+v began %v", s, began)
	}
	st.away.Store(false)
	ping()
	if again := look(time.Second); again != s {
		t.Errorf("one answer ends an outage: %+v", again)
	}
	if over := look(time.Second + steady); over.Away {
		t.Errorf("%+v", over)
	}
}

// Rows of many namespaces and sequences took the room of few.
func TestRowsOfAPageHaveRoom(t *testing.T) {
	b := newBench(t)
	p := client{sender: &sender{caller: &server.Caller{}}}
	v := snapshot{spaces: make([]spaceState, 2000), sequences: make([]sequenceState, 2000)}
	v.names = &pb.ListNamespacesResponse{Namespaces: make([]*pb.Namespace, 3000)}
	v.servers = &pb.ListServersResponse{Servers: make([]*pb.ServerInfo, 3000)}
	others := &server.Caller{}
	noError(t, b.service.Reserve(others, server.MostRoom-(10<<20)))
	if b.d.reserveRows(&p, v) == nil {
		t.Error("20 MB have room in 10")
	}
	b.service.Ended(others)
	p = client{sender: p.sender}
	noError(t, errors.Join(b.d.reserveRows(&p, v), b.d.reserveRows(&p, v)))
	noError(t, b.service.Reserve(others, server.MostRoom-(20<<20)))
}
