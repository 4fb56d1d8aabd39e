package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/snowfence/snowfence"
)

// Holders is for servers: it returns a store for holders who are trusted with leases but not with
// the rest of the store, which a server hands to programs elsewhere. Leases work over it
// as over any other store. What no [Lease] does is refused, with an error that matches
// [ErrRefused].
//
// A namespace is the server's alone. A holder can only ask it to look: whether the store is still
// the one that the namespace was made in, whether it lost a record that the server itself had shown
// and signed, and whether a ttl is longer than any before. The server reads its own store and its
// own clock, and writes the namespace if it has to. It takes no other word for anything.
//
// Each write of a node's record shows whose it is, by a secret that is not stored. A holder writes
// in nobody else's name: it takes a node, renews it, and lowers the end of what it was granted
// itself. So it cannot make a duplicate of what others make. It can take their nodes, which ends
// their grants early, and keep a node from others for one and a half times the longest ttl and skew
// after its last write.
//
// A [Ticket] is released over the store itself: its holder cannot prove here that the end may be
// lowered.
//
// Swap reads what it is to replace first, which is one round trip more. now is the server's clock;
// nil means the system's.
func Holders(st Store, now func() time.Time) Store {
	if now == nil {
		now = time.Now
	}
	return &holders{st, now}
}

// holders passes Count, Identity, Now and Pin on, which write nothing and show no record:
// Count says no more than the length of what List shows, and Pin keeps open only what
// notices a replaced store.
type holders struct {
	Store
	now func() time.Time
}

const (
	// farthest bounds the ttl and the allowed skew, together, of a lease that no lease of the
	// namespace had before. A store that is rolled back stops its namespace for about as long.
	farthest = 20 * time.Minute

	// longestNonce is what every store keeps.
	longestNonce = 64
	longestLabel = 128

	// aboveFloor is how many ticks may be granted above a floor that lies ahead.
	aboveFloor = 4
)

// Get implements [Store]. What it shows of a node is signed, and nothing that signs is shown.
func (h *holders) Get(ctx context.Context, keys []Key) ([]Record, error) {
	all := slices.Clone(keys)
	at := map[string]int{} // of the records of namespaces
	for i, k := range keys {
		if k.Node == NamespaceNode {
			at[k.Namespace] = i
		}
	}
	for _, k := range keys {
		if _, ok := at[k.Namespace]; !ok {
			at[k.Namespace] = len(all)
			all = append(all, Key{k.Namespace, NamespaceNode})
		}
	}
	rs, err := h.Store.Get(ctx, all)
	if err != nil {
		return nil, err
	}
	spaces := map[string]Namespace{}
	for name, i := range at {
		if rs[i].Nonce == "" {
			continue
		}
		ns, err := h.signing(ctx, rs[i])
		if err != nil {
			return nil, err
		}
		spaces[name] = ns
		if rs[i], err = ns.shown(); err != nil {
			return nil, err
		}
	}
	rs = rs[:len(keys)]
	for i, r := range rs {
		if r.Node != NamespaceNode {
			rs[i].Data = evidenceOf(r).sign(spaces[r.Namespace])
		}
	}
	return rs, nil
}

// List implements [Store].
func (h *holders) List(ctx context.Context, q Query) ([]Record, error) {
	rs, err := h.Store.List(ctx, q)
	if err != nil {
		return nil, err
	}
	for i, r := range rs {
		rs[i].Data = ""
		if r.Node == NamespaceNode {
			ns, err := namespaceOf(h.Store, r)
			if err != nil {
				return nil, err
			}
			if rs[i], err = ns.shown(); err != nil {
				return nil, err
			}
		}
	}
	return rs, nil
}

// Swap implements [Store].
func (h *holders) Swap(ctx context.Context, writes []Write) []error {
	if err := Distinct(writes); err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	var keys []Key
	rulesOf := map[string]*rules{}
	for _, w := range writes {
		keys = append(keys, w.New.Key)
		rulesOf[w.New.Namespace] = nil
	}
	for name := range rulesOf {
		if k := (Key{name, NamespaceNode}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	stored, err := h.Store.Get(ctx, keys)
	if err != nil {
		err = fmt.Errorf("lease: reading what the write replaces: %w", err)
		return slices.Repeat([]error{err}, len(writes))
	}
	for _, r := range stored {
		if r.Node == NamespaceNode {
			rulesOf[r.Namespace] = h.rules(r)
		}
	}
	errs := make([]error, len(writes))
	var good []Write
	var index []int
	for i, w := range writes {
		if w.New.Node == NamespaceNode {
			continue
		}
		if errs[i] = rulesOf[w.New.Namespace].check(stored[i], w); errs[i] == nil {
			w.New.Data, w.New.At = stored[i].Data, h.now().UnixMilli()
			good, index = append(good, w), append(index, i)
		}
	}
	if len(good) > 0 {
		for j, err := range h.Store.Swap(ctx, good) {
			errs[index[j]] = err
		}
	}
	for i, w := range writes {
		if w.New.Node == NamespaceNode {
			errs[i] = h.answer(ctx, w)
		}
	}
	return errs
}

// rules is a namespace in which writes are judged.
type rules struct {
	ns    Namespace
	nodes int64
	ahead int64 // the highest end that a grant may have now
	err   error // why nothing is written at all
}

// rules reads a namespace for those who write in it.
func (h *holders) rules(r Record) *rules {
	if r.Nonce == "" {
		return &rules{err: fmt.Errorf("lease: namespace %q is gone: %w", r.Namespace, ErrLost)}
	}
	ns, err := namespaceOf(h.Store, r)
	if err != nil {
		return &rules{err: err}
	}
	l, err := snowfence.ParseLayout(ns.Layout)
	switch {
	case err != nil:
		return &rules{err: fmt.Errorf("lease: namespace %q: %w", ns.Name, err)}
	case ns.State != Active:
		return &rules{err: fmt.Errorf("%w: %w", ns.notActive(), ErrLost)}
	}
	return &rules{ns: ns, nodes: nodeCount(l), ahead: ns.farthest(l, h.now())}
}

// farthest returns the highest end that a grant may have now, and so the floor that lies above all
// grants. A holder writes as far as the longest ttl and skew by its own clock, and the server's
// clock may be behind by half of that. A tick may be longer than all this; and above a floor that
// was raised there are a few ticks for those who cannot take another node.
func (ns Namespace) farthest(l snowfence.Layout, now time.Time) int64 {
	return max(l.TickOf(now.Add(ns.LongestTTL+ns.slack()))+2, ns.Floor+aboveFloor)
}

// slack is how far off a server's clock may be.
func (ns Namespace) slack() time.Duration { return max(ns.LongestTTL/2, time.Second) }

// check returns why a write is not carried out, if it is not. Swapping by nonce sees to it that
// what is replaced is what was judged.
func (p *rules) check(old Record, w Write) error {
	if p.err != nil {
		return p.err
	}
	n := w.New
	refuse := func(why string) error {
		err := fmt.Errorf("lease: node %d of namespace %q: %s, which no lease does", n.Node, n.Namespace, why)
		return marked{err, ErrRefused}
	}
	who := hashOf(n.Data)
	holder, _, says := startOf(n.Holder)
	switch {
	case old.Nonce != w.Old:
		return ErrLost
	case n.Generation != p.ns.Generation:
		// as its holder would find right afterwards
		return fmt.Errorf("lease: namespace %q was changed: %w", n.Namespace, ErrLost)
	case n.Node < 0 || n.Node >= p.nodes:
		return refuse("there is no such node")
	case !strings.HasPrefix(n.Nonce, who+"."):
		return refuse("it does not show whose it is")
	case n.Nonce == w.Old || len(n.Nonce) > longestNonce || !plain(n.Nonce):
		return refuse("it has no new nonce")
	case len(n.Label) > longestLabel || !plain(n.Label):
		return refuse("its label is not a text of at most 128 bytes")
	case n.Revision != old.Revision+1:
		return refuse("it does not count the write")
	case n.Veto != old.Veto:
		return refuse("it changes a veto")
	case n.Holder != "" && n.Veto != "":
		return refuse("it takes a node that has a veto")
	case n.Holder != "" && (!says || holder != who || len(n.Holder) > longestNonce):
		return refuse("it writes in somebody else's name")
	}
	return p.checkTicks(old, n, who, refuse)
}

// plain reports whether every store can keep a text.
func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// checkTicks allows what granted, a renewal and a give-back write.
func (p *rules) checkTicks(old, n Record, who string, refuse func(string) error) error {
	f := floor(p.ns, old)
	low := f // no end is lower
	known := old.Nonce != "" && old.Generation >= p.ns.Since
	if known {
		low = old.Until // a floor that was raised for others does not end what is held
	}
	_, first, _ := startOf(n.Holder)
	kept := known && n.Holder == old.Holder
	held, start, says := startOf(old.Holder)
	back := known && n.Holder == "" && says && held == who
	sameRun := known && n.From == old.From && n.PrevUntil == old.PrevUntil
	newRun := n.PrevUntil == f && n.From >= f && n.From <= n.Until
	sameSkip := known && n.SkipFrom == old.SkipFrom && n.SkipUntil == old.SkipUntil
	noSkip := !known && n.SkipFrom == 0 && n.SkipUntil == 0
	switch {
	case n.Until > max(p.ahead, low):
		return refuse("its ticks are further ahead than the longest ttl allows: " +
			"set the clock right, or wait until the node's ticks are no longer ahead")
	case n.Holder != "" && !kept && !(first >= max(f, n.From) && first <= n.Until):
		return refuse("it does not say which ticks its holder was granted")
	// but it may be said again, when the reply was lost
	case n.Holder == "" && !back && !(known && old.Holder == "" && n.Until == low):
		return refuse("it gives back what somebody else was granted")
	case n.Until < low && !(back && n.Until >= max(start, old.From)):
		return refuse("it lowers the end of what was granted")
	case !sameRun && !newRun:
		return refuse("it changes which ticks were granted before")
	case !sameSkip && !noSkip:
		return refuse("it changes which ticks are used up")
	}
	return nil
}
