package lease

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence"
)

// Holders returns a store for holders who are trusted with leases but not with the rest of the store: a server hands it to programs elsewhere. It refuses writes
// that no [Lease] makes, with an error that matches [ErrRefused]:
//
//   - of a namespace, all but raising its floor, its longest ttl and its generation by one, and adding keys;
//   - of a node, a veto, ticks below the floor or more than two days ahead, an end that is lowered by anybody but its holder, and a changed history.
//
// So who writes through it cannot make a duplicate of what others make; it can take their nodes, which ends their grants early, and use all up. A [Ticket] is released over the
// store itself: its holder cannot prove here that the end may be lowered.
//
// Swap reads what it is to replace first, which is one round trip more. now is the clock that ticks are judged by; nil means the system's.
func Holders(st Store, now func() time.Time) Store {
	if now == nil {
		now = time.Now
	}
	return &holders{st, now}
}

type holders struct {
	Store
	now func() time.Time
}

// farthest is how far ahead of the clock holders may write: beyond the longest ttl that a lease can have, and a clock that is off by as much.
const farthest = 48 * time.Hour

// Swap implements [Store].
func (h *holders) Swap(ctx context.Context, writes []Write) []error {
	if err := Distinct(writes); err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	keys := make([]Key, 0, len(writes)+1)
	at := map[string]int{} // of the records of namespaces
	for _, w := range writes {
		keys = append(keys, w.New.Key)
	}
	for _, w := range writes {
		if _, ok := at[w.New.Namespace]; !ok {
			at[w.New.Namespace] = len(keys)
			keys = append(keys, Key{w.New.Namespace, NamespaceNode})
		}
	}
	stored, err := h.Get(ctx, keys)
	if err != nil {
		return slices.Repeat([]error{fmt.Errorf("lease: reading what is to be replaced: %w", err)}, len(writes))
	}
	errs := make([]error, len(writes))
	var good []Write
	var index []int
	for i, w := range writes {
		if errs[i] = h.judge(stored[at[w.New.Namespace]], stored[i], w); errs[i] == nil {
			good, index = append(good, w), append(index, i)
		}
	}
	if len(good) > 0 {
		for j, err := range h.Store.Swap(ctx, good) {
			errs[index[j]] = err
		}
	}
	return errs
}

// judge returns why a write is not carried out, if it is not. Swapping by nonce sees to it that what is replaced is what was judged.
func (h *holders) judge(namespace, old Record, w Write) error {
	n := w.New
	refuse := func(why string) error {
		return marked{fmt.Errorf("lease: node %d of namespace %q: %s, which no lease does", n.Node, n.Namespace, why), ErrRefused}
	}
	switch {
	case namespace.Nonce == "" && n.Node == NamespaceNode:
		return refuse("it makes a namespace")
	case namespace.Nonce == "":
		return fmt.Errorf("lease: namespace %q is gone: %w", n.Namespace, ErrLost)
	case old.Nonce != w.Old:
		return ErrLost
	case n.Nonce == "" || n.Nonce == w.Old || len(n.Nonce) > 128 || len(n.Holder) > 128 || len(n.Label) > 128:
		return refuse("it has no new nonce, or texts of more than 128 bytes")
	case n.Revision != old.Revision+1:
		return refuse("it does not count the write")
	}
	ns, err := decodeNamespace(namespace)
	if err != nil {
		return err
	}
	l, err := snowfence.ParseLayout(ns.Layout)
	if err != nil {
		return fmt.Errorf("lease: namespace %q: %w", ns.Name, err)
	}
	ahead := l.TickOf(h.now().Add(farthest))
	if n.Node == NamespaceNode {
		return judgeNamespace(ns, n, ahead, refuse)
	}
	switch {
	case n.Generation < ns.Generation:
		return fmt.Errorf("lease: namespace %q was changed: %w", n.Namespace, ErrLost) // as its holder would find right afterwards
	case ns.State != Active:
		return fmt.Errorf("%w: %w", ns.notActive(), ErrLost)
	case n.Node < 0 || n.Node>>min(l.Bits(snowfence.FieldNode), 62) != 0:
		return refuse("there is no such node")
	case n.Veto != old.Veto || n.Data != old.Data:
		return refuse("it changes a veto")
	}
	return judgeTicks(ns, old, n, ahead, refuse)
}

// judgeNamespace allows what raiseFloor and usable write.
func judgeNamespace(old Namespace, r Record, ahead int64, refuse func(string) error) error {
	n, err := decodeNamespace(r)
	switch {
	case err != nil:
		return marked{err, ErrRefused}
	case n.Layout != old.Layout, n.Fingerprint != old.Fingerprint, n.First != old.First, n.Last != old.Last, n.State != old.State, n.Since != old.Since, n.ticketKey != old.ticketKey:
		return refuse("it changes the namespace")
	case n.Start != old.Start, (n.Past == nil) != (old.Past == nil), !slices.Equal(n.Past, old.Past):
		return refuse("it changes which layouts the namespace has had")
	case n.Generation != old.Generation && n.Generation != old.Generation+1, n.Generation == old.Generation && (n.Floor != old.Floor || n.Identity != old.Identity):
		return refuse("its generation does not go with what it changes")
	case n.Floor < old.Floor || n.Floor > max(old.Floor, ahead) || r.Until != n.Floor:
		return refuse("it lowers the floor, or raises it far ahead")
	case n.LongestTTL < old.LongestTTL || n.LongestTTL > max(old.LongestTTL, farthest):
		return refuse("it changes the longest ttl to what is not possible")
	case len(n.Keys) < len(old.Keys) || !slices.Equal(n.Keys[:len(old.Keys)], old.Keys):
		return refuse("it removes keys")
	}
	return nil
}

// judgeTicks allows what granted, a renewal and a give-back write.
func judgeTicks(ns Namespace, old, n Record, ahead int64, refuse func(string) error) error {
	f := floor(ns, old)
	known := old.Nonce != "" && old.Generation >= ns.Since
	back := known && n.Holder == "" && old.Holder != ""
	sameRun := known && n.From == old.From && n.PrevUntil == old.PrevUntil
	newRun := n.PrevUntil == f && n.From >= f && n.From <= n.Until
	start, says := startOf(n.Holder)
	ownStart, _ := startOf(old.Holder)
	sameSkip := n.SkipFrom == old.SkipFrom && n.SkipUntil == old.SkipUntil
	switch {
	case n.Until > max(f+1, ahead):
		return refuse("its ticks are more than two days ahead")
	case n.Holder != "" && n.Holder != old.Holder && !(says && start >= max(f, n.From) && start <= n.Until):
		return refuse("its holder does not say which ticks it was granted")
	case n.Until < f && !(back && proves(n.Nonce, old.Holder) && n.Until >= max(ownStart, old.From, ns.Floor)):
		return refuse("it lowers the end of what was granted")
	case !sameRun && !newRun:
		return refuse("it changes which ticks were granted before")
	case known && !sameSkip, !known && !sameSkip && (n.SkipFrom != 0 || n.SkipUntil != 0):
		return refuse("it changes which ticks are used up")
	}
	return nil
}

// NamespaceIdentity implements [NamespaceIdentifier].
func (h *holders) NamespaceIdentity(ctx context.Context, namespace string) (string, error) {
	return identity(ctx, h.Store, namespace)
}

// Now implements [Clock].
func (h *holders) Now(ctx context.Context) (time.Time, error) {
	if c, ok := h.Store.(Clock); ok {
		return c.Now(ctx)
	}
	return time.Time{}, nil
}
