package lease

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

const (
	// farthest is the longest reach that a holder can ask for. A
	// rolled-back store stops its namespace for about as long.
	farthest = 20 * time.Minute

	// longestNonce is the length of a nonce that every store keeps.
	longestNonce = 64
	longestLabel = 128

	// aboveFloor is how many ticks may be granted above a floor that lies ahead.
	aboveFloor = 4
)

// rules is a namespace in which writes are judged.
type rules struct {
	ns     Namespace
	layout snowfence.Layout
	nodes  int64
	ahead  int64 // the highest end that a grant may have now
	err    error // why nothing is written at all
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
	return &rules{ns: ns, layout: l, nodes: nodeCount(l), ahead: ns.farthest(l, h.now())}
}

// farthest returns the highest end that a grant may have now, so it is also a
// floor above all grants. A holder reaches as far as the longest ttl and skew by
// its own clock. The server's may be behind by half of that, and a tick may be
// longer. Above a raised floor there are a few ticks for holders who cannot take
// another node.
func (ns Namespace) farthest(l snowfence.Layout, now time.Time) int64 {
	return max(l.TickOf(now.Add(ns.LongestTTL+ns.slack()))+2, ns.Floor+aboveFloor)
}

// slack is how far off a server's clock may be.
func (ns Namespace) slack() time.Duration { return max(ns.LongestTTL/2, time.Second) }

// check returns why a write is refused, or nil. The swap
// compares the nonce, so it replaces the record that was judged.
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
		return refuse("its nonce does not match the secret of its holder")
	case n.Nonce == w.Old || len(n.Nonce) > longestNonce || !plain(n.Nonce):
		return refuse("it has no new nonce")
	case len(n.Label) > longestLabel || !plain(n.Label):
		return refuse("its label is not a text of at most 128 bytes without control characters")
	case n.Revision != old.Revision+1:
		return refuse("it does not count the write")
	case n.Veto != old.Veto:
		return refuse("it changes a veto")
	case n.Holder != "" && n.Veto != "":
		return refuse("it takes a node that has a veto")
	case n.Holder != "" && p.ns.keptForSQL(p.layout, n.Node, 1) != nil:
		return refuse("it takes a node whose IDs functions in a database make")
	case n.Holder != "" && (!says || holder != who || len(n.Holder) > longestNonce):
		return refuse("it writes in somebody else's name")
	}
	return p.checkTicks(old, n, who, refuse)
}

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

// A holder asks the server to look at a namespace (see question).
// The server writes only what its own store and clock say:
//
//   - The identity of the store is another one: the floor is raised.
//   - The store has lost a record, or a generation, that the server had shown: the floor is raised.
//     What is shown is signed with a key in the namespace's record, so that any server over the
//     store knows it again. It counts once: then the generation is above the one that was shown,
//     and the floor above its ticks.
//   - The ttl is longer than any before: it becomes the longest, up to a limit.

// answer answers a question of a holder. Without
// an error the namespace is now as it should be.
func (h *holders) answer(ctx context.Context, w Write) error {
	name := w.New.Namespace
	refuse := func(format string, args ...any) error {
		return marked{fmt.Errorf("lease: namespace %q: "+format, append([]any{name}, args...)...), ErrRefused}
	}
	var a asked
	if err := json.Unmarshal([]byte(w.New.Data), &a); err != nil || a.Question == nil ||
		len(a.Question.Gone) > maxEvidence {
		return refuse("a holder may not write the record of a namespace: it needs the verb manage")
	}
	reach := a.Question.Reach
	for {
		ns, err := readNamespace(ctx, h.Store, name)
		switch {
		case err != nil:
			return err
		case ns.State != Active:
			return fmt.Errorf("%w: %w", ns.notActive(), ErrLost)
		case reach < 0 || reach > max(farthest, ns.LongestTTL):
			return refuse("a ttl and an allowed skew of %v together are more than the %v "+
				"that a server gives to holders: ask for less", reach, farthest)
		}
		id, err := h.Store.Identity(ctx, name)
		if err != nil {
			return fmt.Errorf("lease: reading the store's identity: %w", err)
		}
		lost, err := h.lost(ctx, ns, a.Question.Gone)
		if err != nil {
			return err
		}
		old := ns
		if reach > ns.LongestTTL {
			ns.LongestTTL = (reach + time.Second - 1).Truncate(time.Second) // in few steps
		}
		if id != ns.Identity || lost.raise {
			if ns, err = h.raised(ctx, ns, id, lost); err != nil {
				return err
			}
		}
		switch {
		case ns.Generation != old.Generation || ns.LongestTTL != old.LongestTTL:
			if _, err = ns.write(ctx, h.Store); !errors.Is(err, ErrLost) {
				return err
			}
		case len(a.Question.Gone) > 0 && !lost.over:
			return refuse("the store has everything that was shown to the holder")
		default:
			return nil
		}
	}
}

// loss is what a store provably lost.
type loss struct {
	over       bool  // the floor was raised since it was shown
	raise      bool  // it is lost, and the floor was not raised since
	until      int64 // of what was lost
	generation int64
}

// lost compares what was shown with what the store has.
func (h *holders) lost(ctx context.Context, ns Namespace, shown []evidence) (l loss, err error) {
	for _, e := range shown {
		mac := e.sign(ns)
		if e.Generation < ns.Since || mac == "" || !hmac.Equal([]byte(mac), []byte(e.MAC)) {
			continue
		}
		if ns.Generation > e.Generation && ns.Floor >= e.Until {
			l.over = true
			continue
		}
		rs, err := h.Store.Get(ctx, []Key{{Namespace: ns.Name, Node: e.Node}})
		if err != nil {
			return l, fmt.Errorf("lease: reading node %d of namespace %q: %w", e.Node, ns.Name, err)
		}
		if rs[0].Revision >= e.Revision && ns.Generation >= e.Generation {
			continue
		}
		l.raise = true
		l.until, l.generation = max(l.until, e.Until), max(l.generation, e.Generation)
	}
	return l, nil
}

// raised returns the namespace with the floor above everything that can have been granted.
func (h *holders) raised(ctx context.Context, ns Namespace, id string, lost loss) (Namespace, error) {
	layout, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return ns, fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	now, err := checkedClock(ctx, h.Store, h.now, ns.slack())
	if err != nil {
		return ns, err
	}
	ns.Floor = max(ns.farthest(layout, now), lost.until)
	ns.Generation = max(ns.Generation, lost.generation) + 1
	ns.Identity = id
	ns.rolledBack(now)
	return ns, nil
}
