package lease

import (
	"errors"
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

// earlier gives the namespace of a stage the first format.
func (g *stage) earlier() {
	g.Helper()
	r := g.namespace().record
	r.Data = strings.Replace(r.Data, `"format":1,`, ``, 1)
	g.put(r)
}

// A store without a clock, or one that does not answer, is judged by the program's clock.
func TestFormatWithoutAClock(t *testing.T) {
	for name, c := range map[string]struct {
		err error
		old time.Duration // of the server's record
	}{
		"no clock, a server that runs":    {nil, 0},
		"no clock, one that is gone":      {nil, 2 * serverGone},
		"no answer, a server that runs":   {errSilent, 0},
		"no answer, a server that's gone": {errSilent, 2 * serverGone},
	} {
		g := empty(t, "twitter")
		g.st.clockErr = c.err
		g.put(store.Record{
			Key: store.Key{Namespace: store.Servers, Node: 3}, Label: "old", Data: "{}",
			At: time.Now().Add(-c.old).UnixMilli(),
		})
		g.earlier()
		if err := Namespaces(g.st).Upgrade(t.Context()); (err == nil) != (c.old > 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A new namespace has this program's format, whatever servers run. An upgrade does not write it.
func TestFormatOfANewNamespace(t *testing.T) {
	g := empty(t, "twitter")
	g.put(store.Record{
		Key: store.Key{Namespace: store.Servers, Node: 3}, Label: "old", Data: "{}", At: time.Now().UnixMilli(),
	})
	ns, err := Namespaces(g.st).Create(t.Context(), "m", g.c.scheme, nil)
	if err != nil || ns.format != store.Format {
		t.Errorf("%d, %v", ns.format, err)
	}
	g.st.swaps = 0
	if err := Namespaces(g.st).Upgrade(t.Context()); err != nil || g.st.swaps > 0 {
		t.Errorf("%v, after %d writes", err, g.st.swaps)
	}
}

// An upgrade that fails says why, and leaves the format as it is.
func TestUpgradeThatFails(t *testing.T) {
	for name, harm := range map[string]func(st *scripted){
		"servers cannot be listed": func(st *scripted) {
			st.onList = func(namespace string) error {
				if namespace == store.Servers {
					return errSilent
				}
				return nil
			}
		},
		"namespaces cannot be listed": func(st *scripted) { st.listErr = errSilent },
		"one cannot be written": func(st *scripted) {
			st.onSwap = func(ws []store.Write, do func([]store.Write) []error) []error {
				if ws[0].New.Namespace == "n" {
					return silent(len(ws))
				}
				return do(ws)
			}
		},
	} {
		g := empty(t, "twitter")
		if _, err := Namespaces(g.st).Create(t.Context(), "z", g.c.scheme, nil); err != nil {
			t.Fatal(err)
		}
		g.earlier()
		harm(g.st)
		if err := Namespaces(g.st).Upgrade(t.Context()); !errors.Is(err, errSilent) {
			t.Errorf("%s: %v", name, err)
		}
		g.st.listErr = nil
		if g.namespace().format == store.Format {
			t.Errorf("%s: it has the format of this program", name)
		}
	}
}
