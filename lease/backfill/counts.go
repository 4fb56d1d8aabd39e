package backfill

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/answer"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// An hour of a node has a record of its own: how many IDs each of its
// seconds has given out. Data is "EPOCH.W" and bits: W is a letter for the
// width of a count, and base64 the 3,600 counts. The epoch is the
// namespace's. With 13 bits, the widest, it has 7,828 bytes.

const (
	secondsPerHour = 3600
	countBits      = 13
	maxCount       = 1<<countBits - 1 // in a second: ticks finer than a millisecond could give more
)

// hours counts from 1900, because no epoch is earlier. There are numbers
// until the year 3813.
const (
	hourBits   = 24
	beforeUnix = 25_567 * 86_400 // seconds from 1900 to 1970
)

// counts are for the seconds of an hour.
type counts [secondsPerHour]uint16

var errCounts = errors.New("its counts are damaged")

// parseCounts reads the counts of a record. Counts of another epoch are
// full: the store was rolled back since, and they are unknown.
func parseCounts(data, epoch string) (c counts, full bool, err error) {
	was, text, _ := strings.Cut(data, ".")
	if text == "" || text[0]-'a' > countBits {
		return c, false, errCounts
	}
	if was != epoch {
		return c, true, nil
	}
	width := int(text[0] - 'a')
	in, err := base64.RawStdEncoding.DecodeString(text[1:])
	if err != nil || len(in) != secondsPerHour*width/8 {
		return c, false, errCounts
	}
	at := 0
	for i := range c {
		for b := range width {
			c[i] |= uint16(in[at/8]>>(at%8)&1) << b
			at++
		}
	}
	return c, false, nil
}

// text is how a record keeps the counts.
func (c *counts) text(epoch string) string {
	width := 0
	for _, n := range c {
		width = max(width, bits.Len16(n))
	}
	out := make([]byte, secondsPerHour*width/8)
	at := 0
	for _, n := range c {
		for b := range width {
			out[at/8] |= byte(n>>b&1) << (at % 8)
			at++
		}
	}
	return epoch + "." + string(rune('a'+width)) + base64.RawStdEncoding.EncodeToString(out)
}

// pastKey is where the counts of an hour are kept. No node, no namespace
// and no sequence has a number as low.
func pastKey(namespace string, node, hour int64) store.Key {
	return store.Key{Namespace: namespace, Node: -1<<48 - node<<hourBits - hour}
}

// madeID is an ID that a swap makes.
type madeID struct {
	wantedID
	parts snowfence.Parts
}

// count returns the record of an hour with the IDs that are wanted of it,
// and these IDs.
func (b *Backfill) count(
	ctx context.Context, ns scope.Namespace, r store.Record, wants []wantedID,
) (store.Write, []madeID, error) {
	c, full, err := counts{}, false, error(nil)
	if r.Nonce != "" {
		c, full, err = parseCounts(r.Data, ns.Epoch())
	}
	switch {
	case err != nil:
		return store.Write{}, nil, fmt.Errorf("lease: the hour of %s: %w", wants[0].shown(), store.Damaged(r.Key, err))
	case full:
		return store.Write{}, nil, fmt.Errorf("lease: namespace %q, node %d: %w for the hour of %s: its IDs were "+
			"counted before the store was rolled back: take a time of another hour", b.name, b.node, ErrFull,
			wants[0].shown())
	}
	var ids []madeID
	for _, w := range wants {
		n := int64(c[w.index()])
		if n >= w.capacity() {
			return store.Write{}, nil, fmt.Errorf("lease: namespace %q, node %d: %w: the second of %s has room "+
				"for %d IDs: ask for fewer, or take another node or time", b.name, b.node, ErrFull, w.shown(),
				w.capacity())
		}
		c[w.index()]++
		ids = append(ids, madeID{w, w.parts(n, b.node)})
	}
	world := world.From(ctx)
	next := store.Record{
		Key: r.Key, Nonce: world.Text(), Revision: r.Revision + 1, Generation: ns.Generation,
		At: world.Now().UnixMilli(), Data: c.text(ns.Epoch()),
	}
	return store.Write{Old: r.Nonce, New: next}, ids, nil
}

func (w wantedID) shown() string { return showTime(time.Unix(w.second-beforeUnix, 0)) }

// readCounts reads the namespace and counts, and returns why no ID can be
// made, if so.
func (b *Backfill) readCounts(
	ctx context.Context, keys []store.Key,
) (ns scope.Namespace, _ []store.Record, a answer.Answer, _ error) {
	b.mu.Lock()
	seen, dead := b.seen, b.dead
	b.mu.Unlock()
	if dead != nil {
		return ns, nil, a, dead
	}
	all := append([]store.Key{{Namespace: b.name, Node: store.NamespaceNode}}, keys...)
	last := slices.Index(all, seen.record.Key)
	if last < 0 && seen.record.Nonce != "" {
		last = len(all)
		all = append(all, seen.record.Key)
	}
	rs, a, err := answer.Read(ctx, world.From(ctx), b.st, all...)
	if err != nil {
		return ns, nil, a, fmt.Errorf("lease: reading namespace %q: %w", b.name, err)
	}
	if ns, err = scope.ReadNamespace(b.st, rs[0]); err != nil {
		return ns, nil, a, err
	}
	if err := b.compare(ctx, seen, ns, rs[max(last, 0)], a.Identity); err != nil {
		return ns, nil, a, err
	}
	if err := ns.Usable(b.scheme); err != nil { // an older store may have another layout
		return ns, nil, a, err
	}
	same, err := ns.Identify(a.Identity)
	if same && a.Identity != ns.Identity { // it names more sources
		if err = ns.NoteIdentity(ctx, b.st, a.Identity); err == nil || errors.Is(err, store.ErrLost) {
			return b.readCounts(ctx, keys)
		}
	}
	if err == nil {
		err = ns.Fills(b.scheme, b.node, a.Identity)
	}
	if err != nil {
		return ns, nil, a, err
	}
	b.remember(ns, store.Record{})
	return ns, rs[1 : 1+len(keys)], a, nil
}

// compare looks for a store that was rolled back behind this Backfill, with
// or without another identity. It notes that in the namespace, so that no
// Backfill uses the counts. identity came with the answer.
func (b *Backfill) compare(
	ctx context.Context, seen witnessed, ns scope.Namespace, last store.Record, identity string,
) error {
	same := seen.namespace.Epoch() == ns.Epoch()
	less := ns.Revision() < seen.namespace.Revision()
	was := seen.record
	older := last.Revision < was.Revision || last.Revision == was.Revision && last.Nonce != was.Nonce
	back := !same && !seen.before(ns)
	gone := back || same && older
	if !less && !gone {
		return nil
	}
	if ns.Generation <= seen.namespace.Generation {
		if same, _ := store.Compare(identity, ns.Identity); !same {
			identity = ns.Identity // others see the change already
		}
		if err := b.st.Suspect(ctx, identity); err != nil {
			return fmt.Errorf("lease: giving the store another identity: %w", err)
		}
	}
	err := fmt.Errorf("lease: namespace %q makes no IDs for the past: %w that it had acknowledged: name nodes "+
		"without IDs for the past (snowfence namespace change --backfill-nodes), and then open one of them", b.name,
		ErrRolledBack)
	if same || back {
		if err := scope.Namespaces(b.st).NoteRollback(ctx, b.name); err != nil {
			return err // it is tried again
		}
	}
	b.mu.Lock()
	b.dead = err
	b.mu.Unlock()
	return err
}

// before reports whether the namespace has a later epoch than what was
// seen: each epoch after the first has nodes, all higher than those before.
func (w witnessed) before(ns scope.Namespace) bool {
	is := ns.BackfillNodes
	return w.namespace.Epoch() == "" || is.Until > 0 && is.From >= w.namespace.BackfillNodes.Until
}

// remember notes the shown or acknowledged counts of the store. If two
// writes cross, either will do.
func (b *Backfill) remember(ns scope.Namespace, written store.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen.namespace.Epoch() != ns.Epoch() {
		b.seen = witnessed{}
	}
	if b.seen.namespace.Revision() <= ns.Revision() {
		b.seen.namespace = ns
	}
	if written.Nonce != "" {
		b.seen.record = written
	}
}
