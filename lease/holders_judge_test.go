package lease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
)

// judged is a write that a server carries out. The holder
// has ticks 100 to 120 of a node, in a run that began at 90.
// The namespace has the floor 80, and grants may end at 150.
type judged struct {
	p   *rules
	old Record
	w   Write
}

func renewal() *judged {
	who := hashOf("mine")
	old := Record{
		Key: Key{Namespace: "n", Node: 5}, Nonce: who + ".1", Revision: 7, Generation: 4, Holder: who + ".100",
		From: 90, Until: 120, PrevUntil: 60, SkipFrom: 200, SkipUntil: 210,
	}
	n := old
	n.Nonce, n.Revision, n.Until, n.Data = who+".2", 8, 130, "mine"
	return &judged{
		&rules{ns: Namespace{Since: 3, Generation: 4, Floor: 80}, nodes: 16, ahead: 150}, old,
		Write{Old: old.Nonce, New: n},
	}
}

// lapsed makes it a renewal that begins a new run.
func (j *judged) lapsed() {
	n := &j.w.New
	n.PrevUntil, n.From, n.Until = 120, 125, 140
}

// back makes it a give-back.
func (j *judged) back() { j.w.New.Holder, j.w.New.Until = "", 110 }

// taken makes it the first grant after somebody else's.
func (j *judged) taken() {
	j.old.Holder = hashOf("other") + ".100"
	j.w.New.Holder = hashOf("mine") + ".120"
}

// early makes the old record one of an earlier layout.
func (j *judged) early() { j.old.Generation = 2 }

// newRun is what the first grant of a layout writes.
func (j *judged) newRun() {
	n := &j.w.New
	n.From, n.PrevUntil, n.Until, n.SkipFrom, n.SkipUntil = 80, 80, 130, 0, 0
	n.Holder = hashOf("mine") + ".80"
}

// Each term of what a server allows, at its edge. Each case
// differs in one thing from the one before it or from a renewal.
func TestWritesAtTheEdge(t *testing.T) {
	who := hashOf("mine")
	for _, c := range []struct {
		name    string
		allowed bool
		with    func(j *judged, n *Record)
	}{
		{"a renewal", true, func(*judged, *Record) {}},
		{"node 0", true, func(_ *judged, n *Record) { n.Node = 0 }},
		{"the last node", true, func(_ *judged, n *Record) { n.Node = 15 }},
		{"the node after it", false, func(_ *judged, n *Record) { n.Node = 16 }},
		{"the longest nonce", true, func(_ *judged, n *Record) { n.Nonce = who + "." + strings.Repeat("x", longestNonce-len(who)-1) }},
		{"a longer one", false, func(_ *judged, n *Record) { n.Nonce = who + "." + strings.Repeat("x", longestNonce-len(who)) }},
		{"the longest label", true, func(_ *judged, n *Record) { n.Label = strings.Repeat("x", longestLabel) }},
		{"a longer label", false, func(_ *judged, n *Record) { n.Label = strings.Repeat("x", longestLabel+1) }},
		{"the longest holder", true, func(j *judged, n *Record) {
			j.taken()
			n.Holder = fmt.Sprintf("%s.%0*d", who, longestNonce-len(who)-1, 120)
		}},
		{"a longer holder", false, func(j *judged, n *Record) {
			j.taken()
			n.Holder = fmt.Sprintf("%s.%0*d", who, longestNonce-len(who), 120)
		}},
		{"as far as is allowed", true, func(_ *judged, n *Record) { n.Until = 150 }},
		{"further", false, func(_ *judged, n *Record) { n.Until = 151 }},
		{"as far as it was", true, func(j *judged, _ *Record) { j.p.ahead = 110; j.w.New.Until = 120 }},
		{"an end that is lowered while it is held", false, func(_ *judged, n *Record) { n.Until = 119 }},

		{"a run after a gap", true, func(j *judged, _ *Record) { j.lapsed() }},
		{"of no tick", true, func(j *judged, n *Record) { j.lapsed(); n.From = n.Until }},
		{"of less than none", false, func(j *judged, n *Record) { j.lapsed(); n.From = n.Until + 1 }},
		{"that says another end of the one before", false, func(j *judged, n *Record) { j.lapsed(); n.PrevUntil-- }},
		{"that says a later end of the one before", false, func(j *judged, n *Record) { j.lapsed(); n.PrevUntil++ }},
		{"that begins below the floor", false, func(j *judged, n *Record) { j.lapsed(); n.From = 119 }},

		{"taken from somebody else", true, func(j *judged, _ *Record) { j.taken() }},
		{"from the last tick on", true, func(j *judged, n *Record) { j.taken(); n.Holder = who + ".130" }},
		{"from a later one on", false, func(j *judged, n *Record) { j.taken(); n.Holder = who + ".131" }},
		{"from an earlier one on", false, func(j *judged, n *Record) { j.taken(); n.Holder = who + ".119" }},
		{"taken after a gap", true, func(j *judged, n *Record) { j.taken(); j.lapsed(); n.Holder = who + ".125" }},
		{"from a tick of the gap on", false, func(j *judged, n *Record) { j.taken(); j.lapsed(); n.Holder = who + ".124" }},

		{"given back", true, func(j *judged, _ *Record) { j.back() }},
		{"down to its first tick", true, func(j *judged, n *Record) { j.back(); n.Until = 100 }},
		{"below that", false, func(j *judged, n *Record) { j.back(); n.Until = 99 }},
		{"down to where its run began", true, func(j *judged, n *Record) { j.back(); j.old.From, n.From, n.Until = 105, 105, 105 }},
		{"below its run", false, func(j *judged, n *Record) { j.back(); j.old.From, n.From, n.Until = 105, 105, 104 }},
		{"what does not say when it began", false, func(j *judged, _ *Record) { j.back(); j.old.Holder = who }},
		{"given back again", true, func(j *judged, n *Record) { j.back(); j.old.Holder, n.Until = "", 120 }},
		{"again, and lower", false, func(j *judged, n *Record) { j.back(); j.old.Holder, n.Until = "", 119 }},
		{"again, and higher", false, func(j *judged, n *Record) { j.back(); j.old.Holder, n.Until = "", 121 }},
		{"somebody else's, with its end", false, func(j *judged, n *Record) { j.back(); j.old.Holder, n.Until = hashOf("other")+".100", 120 }},

		{"the first grant of a layout", true, func(j *judged, _ *Record) { j.early(); j.old.Holder = ""; j.newRun() }},
		{"the first grant of a node", true, func(j *judged, _ *Record) { j.old = Record{}; j.w.Old = ""; j.w.New.Revision = 1; j.newRun() }},
		{"with a run of an earlier layout", false, func(j *judged, n *Record) {
			j.early()
			j.newRun()
			n.From, n.PrevUntil = 90, 60
			n.Holder = who + ".90"
		}},
		{"with skipped ticks of an earlier layout", false, func(j *judged, n *Record) { j.early(); j.newRun(); n.SkipFrom, n.SkipUntil = 200, 210 }},
		{"given back in an earlier layout", false, func(j *judged, n *Record) { j.early(); j.newRun(); n.Holder = "" }},
		{"without a holder, in an earlier layout", false, func(j *judged, n *Record) {
			j.early()
			j.newRun()
			j.old.Holder, n.Holder, n.Until = "", "", 80
		}},
		{"a run of a node that was never granted", false, func(j *judged, n *Record) {
			j.p.ns.Since, j.old, j.w.Old, n.Revision = 0, Record{}, "", 1
			j.newRun()
			n.From, n.PrevUntil = 0, 0
		}},
		{"a holder without a tick", false, func(j *judged, n *Record) {
			j.p.ns.Floor, j.old, j.w.Old, n.Revision = 0, Record{}, "", 1
			j.newRun()
			n.From, n.PrevUntil, n.Holder = 0, 0, who
		}},
	} {
		j := renewal()
		c.with(j, &j.w.New)
		if err := j.p.check(j.old, j.w); (err == nil) != c.allowed || err != nil && !errors.Is(err, ErrRefused) &&
			!errors.Is(err, ErrLost) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A clock of a server may be off by half of the longest ttl, and by a second at least.
func TestHowFarHoldersWrite(t *testing.T) {
	l, err := snowfence.ParseLayout("time=41,node=10,seq=12,epoch=2025-01-01,tick=1s")
	if err != nil {
		t.Fatal(err)
	}
	now := l.Epoch.Add(1000 * time.Second)
	for _, c := range []struct {
		longest     time.Duration
		floor, want int64
	}{
		{0, 0, 1003}, {time.Second, 0, 1004}, {10 * time.Second, 0, 1017}, {10 * time.Second, 1013, 1017}, {10 * time.Second, 1014, 1018},
	} {
		if got := (Namespace{LongestTTL: c.longest, Floor: c.floor}).farthest(l, now); got != c.want {
			t.Errorf("%v and a floor of %d: tick %d, not %d", c.longest, c.floor, got, c.want)
		}
	}
}

// A layout may have more nodes than there are positive numbers.
func TestNodesOfTheWidestLayout(t *testing.T) {
	for spec, want := range map[string]int64{
		"time=1,node=63,epoch=2025-01-01": 1 << 62,
		"time=3,node=61,epoch=2025-01-01": 1 << 61,
	} {
		l, err := snowfence.ParseLayout(spec)
		if err != nil {
			t.Fatal(err)
		}
		if n := nodeCount(l); n != want {
			t.Errorf("%s: %d nodes", spec, n)
		}
	}
}

// A server over a store that does not answer, or whose namespace is damaged, says so.
func TestHoldersWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		hurt func(g *stage)
		says string
	}{
		"no answer":           {func(g *stage) { g.st.onGet = func([]Key) error { return errSilent } }, errSilent.Error()},
		"a damaged namespace": {func(g *stage) { g.change(NamespaceNode, func(r *Record) { r.Data = "x" }) }, "damaged"},
	} {
		g := holding(t)
		c.hurt(g)
		h := Holders(g.st, nil)
		if _, err := h.Get(t.Context(), []Key{{Namespace: "n", Node: 5}}); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: read: %v", name, err)
		}
		w := Write{Old: g.c.held.records[0].Nonce, New: g.c.held.records[0]}
		if err := h.Swap(t.Context(), []Write{w})[0]; err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: written: %v", name, err)
		}
	}
	g := holding(t)
	g.change(NamespaceNode, func(r *Record) { r.Data = "x" })
	h := Holders(g.st, nil)
	among := snowfence.NodeRange{From: NamespaceNode, Until: 11}
	if _, err := h.List(t.Context(), "n", among, 1<<20); err == nil {
		t.Error("a damaged namespace was listed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	among = snowfence.NodeRange{Until: 11}
	if _, err := h.List(ctx, "n", among, 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing was listed: %v", err)
	}
}

// In a namespace that is gone, or whose layout nobody can read, nothing is written.
func TestHoldersOfNoNamespace(t *testing.T) {
	g := holding(t)
	h := Holders(g.st, nil)
	rs, err := h.Get(t.Context(), []Key{{Namespace: "other", Node: 5}, {Namespace: "other", Node: NamespaceNode}})
	if err != nil || rs[0].Nonce != "" || rs[1].Nonce != "" {
		t.Errorf("a namespace that never was: %+v, %v", rs, err)
	}
	err = h.Swap(t.Context(), []Write{{New: Record{Key: Key{Namespace: "other", Node: 5}, Nonce: "x"}}})[0]
	if !errors.Is(err, ErrLost) || errors.Is(err, ErrRefused) {
		t.Errorf("written: %v", err)
	}
	g.rename(func(ns *Namespace) { ns.Layout = "x" })
	w := Write{Old: g.c.held.records[0].Nonce, New: g.c.held.records[0]}
	if err := h.Swap(t.Context(), []Write{w})[0]; err == nil || errors.Is(err, ErrLost) || errors.Is(err, ErrRefused) {
		t.Errorf("written in a layout that cannot be read: %v", err)
	}
}

// A refused write does not reach the store. No
// record is written or asked about twice at once.
func TestHoldersWriteOnlyWhatIsAllowed(t *testing.T) {
	g := holding(t)
	h := Holders(g.st, nil)
	g.st.swaps = 0
	w := Write{Old: g.c.held.records[0].Nonce, New: g.c.held.records[0]}
	if err := h.Swap(t.Context(), []Write{w})[0]; !errors.Is(err, ErrRefused) || g.st.swaps != 0 {
		t.Errorf("%v, and the store was asked %d times to write", err, g.st.swaps)
	}
	q := Write{New: Record{Key: Key{Namespace: "n", Node: NamespaceNode}, Nonce: "q", Data: `{"question":{}}`}}
	for i, err := range h.Swap(t.Context(), []Write{q, q}) {
		if err == nil {
			t.Errorf("question %d of two in one batch was answered", i)
		}
	}
}

// The swap replaces the record that was judged. A write for
// another record is lost, even if that record comes in between.
func TestHoldersReplaceWhatTheyJudged(t *testing.T) {
	j := renewal()
	j.w.Old = "comes in between"
	if err := j.p.check(j.old, j.w); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
}

// A server has the time of its store.
func TestHoldersTellTheTimeOfTheStore(t *testing.T) {
	g := holding(t)
	g.st.clock = g.now
	if now, err := Holders(g.st, nil).Now(t.Context()); err != nil || !now.Equal(g.now) {
		t.Errorf("%v, %v", now, err)
	}
	if now, err := Holders(g.st.Memory, nil).Now(t.Context()); err != nil || !now.IsZero() {
		t.Errorf("of a store that has none: %v, %v", now, err)
	}
}
