package lease

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// A holder is a hash and a tick; anything else says nothing.
func TestStartOf(t *testing.T) {
	if hash, tick, ok := startOf("a.5"); hash != "a" || tick != 5 || !ok {
		t.Errorf("a.5 is %q, %d, %t", hash, tick, ok)
	}
	for _, s := range []string{"", "a", "a.", "a.x", "a.5.6", "5"} {
		if _, _, ok := startOf(s); ok {
			t.Errorf("%q says what was granted", s)
		}
	}
}

// A question shows as many records as a server looks at. It would refuse more.
func TestQuestionShowsFewRecords(t *testing.T) {
	for n, want := range map[int]int{0: 0, 3: 3, maxEvidence: maxEvidence, maxEvidence + 1: maxEvidence} {
		g := holding(t)
		var a asked
		g.st.onSwap = func(ws []Write, _ func([]Write) []error) []error {
			g.must(json.Unmarshal([]byte(ws[0].New.Data), &a))
			return []error{nil}
		}
		g.must(g.c.ask(t.Context(), g.namespace(), make([]Record, n)))
		if a.Question == nil || len(a.Question.Gone) != want {
			t.Errorf("of %d records it shows %+v", n, a.Question)
		}
	}
}

// A holder that asks goes on if others wrote
// the namespace, and learns of any other error.
func TestQuestionWithoutAnswer(t *testing.T) {
	for _, c := range []struct{ answer, want error }{{nil, nil}, {ErrLost, nil}, {errSilent, errSilent}, {
		ErrRefused,
		ErrRefused,
	}} {
		g := holding(t)
		g.st.onSwap = func([]Write, func([]Write) []error) []error { return []error{c.answer} }
		err := g.c.ask(t.Context(), g.namespace(), nil)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("answered %v: %v", c.answer, err)
		}
	}
}

// After a write the namespace is read. Over a server the
// written records are read, too, and must still stand.
func TestRereadAfterAWrite(t *testing.T) {
	read := func(g *stage) (n int) {
		g.st.onGet = func(keys []Key) error { n = len(keys); return nil }
		_, err := g.c.reread(t.Context())
		g.must(err)
		return n
	}
	g := holding(t)
	if n := read(g); n != 1 {
		t.Errorf("over the store itself it reads %d records", n)
	}
	g.c.watched = true
	if n := read(g); n != 2 || len(g.c.seen) != 1 || g.c.seen[0].Key.Node != 5 {
		t.Errorf("over a server it reads %d records, and shows %+v", n, g.c.seen)
	}
	for name, c := range map[string]struct {
		hurt func(g *stage)
		want func(error) bool
	}{
		"no answer": {func(g *stage) { g.st.onGet = func([]Key) error { return errSilent } }, func(err error) bool { return errors.Is(err, errSilent) }},
		"no namespace": {
			func(g *stage) { g.change(NamespaceNode, func(r *Record) { r.Nonce = "" }) },
			func(err error) bool { return errors.Is(err, ErrNoNamespace) },
		},
		"another holder": {func(g *stage) { g.change(5, func(r *Record) { r.Holder = "other" }) }, lost},
	} {
		g := holding(t)
		g.c.watched = true
		c.hurt(g)
		if _, err := g.c.reread(t.Context()); err == nil || !c.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What went back is shown first, the latest that is known of it.
func TestRemindedRecordIsShownFirst(t *testing.T) {
	g := holding(t)
	at := func(node, revision int64) Record {
		return Record{Key: Key{Namespace: "n", Node: node}, Revision: revision}
	}
	g.c.seen = []Record{at(1, 9), at(2, 8), at(3, 7), at(2, 6)}
	for _, c := range []struct{ node, first int64 }{{4, 9}, {1, 9}, {2, 8}, {3, 7}} {
		g.c.showFirst(Key{Namespace: "n", Node: c.node})
		if r := g.c.seen[0]; r.Revision != c.first || len(g.c.seen) != 4 {
			t.Errorf("reminded of node %d it shows %+v", c.node, g.c.seen)
		}
	}
}

// Without proof of a rollback a lease waits until
// its own grants end before the next one can begin.
func TestOutwaitUntilItsOwnTicksArePast(t *testing.T) {
	g := holding(t)
	for name, c := range map[string]struct {
		more int64
		wait bool
	}{"earlier": {-1, false}, "equal": {0, false}, "later": {1, true}} {
		g.c.reached = g.l.ticks.back(g.now) + c.more
		if err := g.c.outwait(t.Context(), ErrRefused); (err != nil) != c.wait {
			t.Errorf("%s: %v", name, err)
		}
	}
	g.st.clockErr = errSilent
	g.c.reached = 0
	if err := g.c.outwait(t.Context(), ErrRefused); !errors.Is(err, errSilent) {
		t.Errorf("without the time: %v", err)
	}
}

// asking is a server over a store that answers as the test wants, and a question of a holder.
func (g *stage) asking(data string) error {
	h := Holders(g.st, func() time.Time { return g.now })
	w := Write{New: Record{Key: Key{Namespace: "n", Node: NamespaceNode}, Nonce: "q", Data: data}}
	return h.Swap(g.Context(), []Write{w})[0]
}

const wantsMore = `{"question":{"reach":600000000000}}`

// A server answers no question that it cannot read, nor one that its store leaves without
// an answer.
func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	nodes := func(g *stage) {
		g.st.onGet = func(keys []Key) error {
			if keys[0].Node >= 0 {
				return errSilent
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		data string
		hurt func(g *stage)
		want error
	}{
		"a word for a number": {`{"question":{"reach":"x"}}`, func(*stage) {}, ErrRefused},
		"no namespace":        {`{"question":{}}`, func(g *stage) { g.change(NamespaceNode, func(r *Record) { r.Nonce = "" }) }, ErrNoNamespace},
		"no identity":         {`{"question":{}}`, func(g *stage) { g.st.idErr = errSilent }, errSilent},
		"no write": {wantsMore, func(g *stage) {
			g.st.onSwap = func(ws []Write, _ func([]Write) []error) []error { return silent(len(ws)) }
		}, errSilent},
		"no node": {"", nodes, errSilent},
		"no layout": {`{"question":{}}`, func(g *stage) {
			g.rename(func(ns *Namespace) { ns.Layout, ns.Identity = "x", "another" })
		}, nil},
	} {
		g := holding(t)
		if c.data == "" {
			e := evidenceOf(g.record(5))
			e.Revision++
			e.MAC = e.sign(g.namespace())
			b, err := json.Marshal(asked{&question{Gone: []evidence{e}}})
			g.must(err)
			c.data = string(b)
		}
		c.hurt(g)
		err := g.asking(c.data)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || errors.Is(err, ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The namespace is written only if a question gives a reason. A reach
// or key that it has is none, nor is a deleted namespace changed.
func TestQuestionsThatChangeNothing(t *testing.T) {
	g := holding(t)
	g.st.onSwap = func(ws []Write, _ func([]Write) []error) []error { return silent(len(ws)) }
	_, err := Holders(g.st, nil).Get(t.Context(), []Key{{Namespace: "n", Node: NamespaceNode}})
	g.must(err)
	g.st.onSwap = nil
	g.rename(func(ns *Namespace) { ns.LongestTTL = 90*time.Minute + time.Millisecond })
	before := g.record(NamespaceNode)
	g.must(g.asking(`{"question":{"reach":5400001000000}}`))
	if r := g.record(NamespaceNode); r != before {
		t.Errorf("written for a reach that it has: %+v", r)
	}
	g.rename(func(ns *Namespace) { ns.State, ns.ticketKey = Deleted, "" })
	before = g.record(NamespaceNode)
	rs, err := Holders(g.st, nil).Get(t.Context(), []Key{{Namespace: "n", Node: NamespaceNode}})
	if err != nil || g.record(NamespaceNode) != before || !strings.Contains(rs[0].Data, `"deleted"`) {
		t.Errorf("shown as %+v, and written as %+v: %v", rs, g.record(NamespaceNode), err)
	}
}

// Of several lost records the highest end and generation count, in any order.
// A floor right at the end, in a later generation, makes up for a loss.
func TestLossOfSeveralRecords(t *testing.T) {
	g := holding(t)
	h, ns := &holders{g.st, nil}, g.namespace()
	shown := func(until, generation int64) evidence {
		e := evidence{Node: 6, Nonce: "x", Revision: 1, Generation: generation, Until: until}
		e.MAC = e.sign(ns)
		return e
	}
	all := []evidence{shown(900, 7), shown(800, 3), shown(700, 9), shown(100, 4)}
	l, err := h.lost(t.Context(), ns, all)
	if err != nil || l != (loss{raise: true, until: 900, generation: 9}) {
		t.Errorf("lost: %+v, %v", l, err)
	}
	ns.Generation = 10
	for floor, want := range map[int64]loss{100: {over: true}, 99: {raise: true, until: 100, generation: 9}} {
		ns.Floor = floor
		if l, err := h.lost(t.Context(), ns, []evidence{shown(100, 9)}); err != nil || l != want {
			t.Errorf("with a floor of %d: %+v, %v", floor, l, err)
		}
	}
}

// As many records as a question may show are looked at.
func TestQuestionWithAllItMayShow(t *testing.T) {
	g := holding(t)
	e := evidenceOf(g.record(5))
	e.Revision++
	e.MAC = e.sign(g.namespace())
	for n, want := range map[int]error{maxEvidence: nil, maxEvidence + 1: ErrRefused} {
		b, err := json.Marshal(asked{&question{Gone: make([]evidence, n-1)}})
		g.must(err)
		var a asked
		g.must(json.Unmarshal(b, &a))
		a.Question.Gone = append(a.Question.Gone, e)
		b, err = json.Marshal(a)
		g.must(err)
		if err := g.asking(string(b)); !errors.Is(err, want) {
			t.Errorf("%d records: %v", n, err)
		}
	}
}

// Without a key anybody could compute the signature.
// A record that never was proves nothing.
func TestNothingIsSignedWithoutAKey(t *testing.T) {
	g := holding(t)
	ns, e := g.namespace(), evidenceOf(g.record(5))
	if e.sign(ns) == "" {
		t.Error("a record is not signed")
	}
	if (evidence{Node: 6}).sign(ns) != "" {
		t.Error("a record is signed that never was")
	}
	ns.ticketKey = ""
	if e.sign(ns) != "" {
		t.Error("it is signed without a key")
	}
}
