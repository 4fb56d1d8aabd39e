package lease

import (
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// write puts a record into the store of a stage as another program would.
func (g *stage) put(r store.Record) {
	g.Helper()
	rs, err := g.st.Memory.Get(g.Context(), []store.Key{r.Key})
	g.must(err)
	r.Nonce = "by another program " + rs[0].Nonce[:min(len(rs[0].Nonce), 8)]
	r.Revision = rs[0].Revision + 1
	g.must(g.st.Memory.Swap(g.Context(), []store.Write{{Old: rs[0].Nonce, New: r}})[0])
}

// A namespace of an earlier format is raised while no server of an earlier one runs, and one of a
// later format is refused by all who read it.
func TestFormat(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string // of the namespace
		server   store.Record
		want     string // "" when the namespace has this program's format afterwards
	}{
		"later":               {`"format":1`, `"format":2`, store.Record{}, "start one of the version that the others have"},
		"earlier":             {`"format":1,`, ``, store.Record{}, ""},
		"earlier server":      {`"format":1,`, ``, store.Record{Label: "old", Data: "{}", At: -59_999}, `server "old"`},
		"one that is gone":    {`"format":1,`, ``, store.Record{Label: "old", Data: "{}", At: -60_000}, ""},
		"one that ended":      {`"format":1,`, ``, store.Record{Label: "old"}, ""},
		"one of this version": {`"format":1,`, ``, store.Record{Label: "new", Data: "{}", Generation: store.Format}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := empty(t, "twitter")
			g.st.clock = g.now
			c.server.Key = store.Key{Namespace: store.Servers, Node: 3}
			c.server.At += g.now.UnixMilli()
			g.put(c.server)
			r := g.namespace().record
			if r.Data = strings.Replace(r.Data, c.from, c.to, 1); r.Data == g.namespace().record.Data {
				t.Fatalf("%s has no format", r.Data)
			}
			g.put(r)
			_, err := g.c.usable(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("a lease: %v", err)
			}
			if c.want == "" {
				g.put(r)
			}
			err = Namespaces(g.st).Upgrade(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("an operator: %v", err)
			}
			if err == nil && g.namespace().format != store.Format {
				t.Errorf("it has the format %d", g.namespace().format)
			}
			g.now = g.now.Add(time.Second)
		})
	}
}
