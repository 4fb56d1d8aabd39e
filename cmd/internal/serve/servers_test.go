package serve

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"

	"google.golang.org/protobuf/proto"
)

// One of several servers did not show that there were others, or their
// versions.
func TestServersOverOneStoreSeeEachOther(t *testing.T) {
	st := newStore(t)
	tokens := []server.Token{token("boss", "secret-boss"), {
		Name: "shop", SHA256: token("", "secret-shop").SHA256, Namespaces: []string{"orders"},
	}}
	a, _ := start(t, Config{
		Options: server.Options{Label: "one", Version: "v1.2.3"}, Access: Access{TokenList: tokens},
	}, st)
	b, _ := start(t, Config{
		Options: server.Options{Label: "two", Version: "v1.2.4"}, Access: Access{TokenList: tokens},
	}, st)
	list := func(p *Process, token string) []*pb.ServerInfo {
		t.Helper()
		code, text := ask(t, "GET", "http://"+p.HTTP+"/v1?list=servers", token, "")
		var v pb.ListServersResponse
		if err := view.Read([]byte(text), &v); code != 200 || err != nil {
			t.Fatalf("%d %s, %v", code, text, err)
		}
		return v.Servers
	}
	both := func(p *Process, this string) bool {
		l := list(p, "secret-boss")
		if len(l) != 2 {
			return false
		}
		for i, want := range [][2]string{{"one", "v1.2.3"}, {"two", "v1.2.4"}} {
			s := l[i]
			if s.Label != want[0] || s.Version != want[1] || s.Since == nil || s.This != (s.Label == this) {
				t.Errorf("%+v", s)
			}
			if len(s.Nodes) != 1 || s.Nodes[0].Namespace != "default" ||
				s.Nodes[0].LastNode-s.Nodes[0].FirstNode != 15 || s.Nodes[0].Until == nil || !s.Ready {
				return false // it has no lease yet, or has not said so
			}
		}
		return !proto.Equal(l[0].Nodes[0], l[1].Nodes[0])
	}
	eventually(t, "both in the list of the first", func() bool { return both(a, "one") })
	eventually(t, "both in the list of the second", func() bool { return both(b, "two") })
	for _, s := range list(a, "secret-shop") {
		if len(s.Nodes) > 0 {
			t.Errorf("one who must not see the namespace: %+v", s)
		}
	}
	code, text := ask(t, "POST", "http://"+a.HTTP+"/snowfence.v1.ServerService/List", "secret-boss", "{}")
	if code != 200 || strings.Count(text, `"namespace"`) != 2 || !strings.Contains(text, "v1.2.4") {
		t.Errorf("over Connect: %d %s", code, text)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patienceOfTests)
	defer cancel()
	noError(t, b.Stop(ctx))
	if l := list(a, "secret-boss"); len(l) != 1 || l[0].Label != "one" {
		t.Errorf("after the stop of the other: %+v", l)
	}
	// A third one takes the place of the second, so that the store keeps no
	// more than are there.
	c, _ := start(t, Config{Options: server.Options{Label: "three"}, Access: Access{TokenList: tokens}}, st)
	eventually(t, "the third", func() bool { l := list(c, "secret-boss"); return len(l) == 2 && l[1].Label == "three" })
	rs, _, err := st.List(t.Context(), "##servers", snowfence.NodeRange{Until: 1 << 40}, 1<<20)
	if err != nil || len(rs) != 2 {
		t.Errorf("%d records, %v", len(rs), err)
	}
}

// A server that was killed says nothing. It is not listed for ever, and its
// place is used again.
func TestServersThatWereKilledAreForgotten(t *testing.T) {
	st := newStore(t)
	const hour = 3_600_000
	now := must(store.Ask(t.Context(), st, store.Servers)).Now
	old := store.Record{
		Key: store.Key{Namespace: "##servers"}, Nonce: "n", Revision: 1, Label: "killed", At: now.UnixMilli() - hour,
		Data: `{"id":"x","version":"v0.0.1","since":"2026-01-01T00:00:00Z"}`,
	}
	must(store.Put(t.Context(), st, store.Write{New: old}))
	start(t, Config{Options: server.Options{Label: "alive"}}, st)
	eventually(t, "its place is taken", func() bool {
		l := must(server.ListServers(t.Context(), st))
		rs, _, err := st.List(t.Context(), "##servers", snowfence.NodeRange{Until: 1 << 40}, 1<<20)
		return err == nil && len(l) == 1 && l[0].Label == "alive" && len(rs) == 1
	})
}

// Records of servers are no namespaces and no sequences, and no wire
// reaches them.
func TestRecordsOfServersAreHidden(t *testing.T) {
	st := newStore(t)
	p, _ := start(t, Config{}, st)
	eventually(t, "the record", func() bool {
		l, err := server.ListServers(t.Context(), st)
		return err == nil && len(l) == 1
	})
	for _, path := range []string{"/v1", "/v1?list=sequences", "/metrics"} {
		if _, text := get(t, "http://"+p.HTTP+path, ""); strings.Contains(text, "##") {
			t.Errorf("%s: %s", path, text)
		}
	}
	for _, name := range []string{"%23%23servers", "%23servers"} {
		for _, path := range []string{"", "/leases", "/next", "/sequence"} {
			if code, text := get(t, fmt.Sprintf("http://%s/v1/%s%s", p.HTTP, name, path), ""); code != 400 {
				t.Errorf("%s%s: %d %s", name, path, code, text)
			}
		}
	}
	if l, err := scope.Namespaces(st).List(t.Context()); err != nil || len(l) != 1 {
		t.Errorf("%v, %v", l, err)
	}
}
