package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// ErrFull means that a second has no ID left for the past, on one node.
var ErrFull = errors.New("no ID is left")

// pastSkew is how far the clock of this machine may be off that of the store.
const pastSkew = 30 * time.Second

// pastRound bounds how many hours are counted in one go.
const pastRound = 128

// Backfill makes IDs for times gone by. It is safe for concurrent
// use, and has nothing to close: it keeps no ID in memory.
//
// Such an ID has a sequence number below the first of its layout, which no generator uses. Of
// each second, a node gives each pair of tick and number out once. A record of the store counts
// them, and is raised before an ID is used. So many processes may share a node, and a crash
// only loses what was taken.
type Backfill struct {
	st     store.Store
	name   string
	scheme *snowfence.Scheme
	node   int64

	mu   sync.Mutex // guards what follows, and is not held while the store is asked
	seen witnessed
	dead error // why another Backfill must be opened
}

// witnessed is what the store has shown or acknowledged. A store that shows less was rolled back.
type witnessed struct {
	namespace Namespace    // as read last
	record    store.Record // count that was written last
}

// OpenBackfill returns a maker of IDs for times gone by, of one node. It takes no lease. The
// namespace must allow it ([Operator.AllowBackfill]), and s is the scheme of its present layout.
//
// A time gets the layout that the namespace had then, and a time before the first layout gets the
// first one. That layout must have the node, and reserved numbers. An ID has the second of its
// time; within it, IDs follow each other from the first tick on. Of a layout with ticks of 1 ms,
// a node makes 1000 IDs a second with the number 0, and 5000 with 0 to 4.
func OpenBackfill(
	ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, node int64,
) (*Backfill, error) {
	if err := check(st, namespace, s); err != nil {
		return nil, err
	}
	if node < 0 || node > maxNode {
		return nil, invalidf("lease: node %d: IDs for the past have the nodes 0 to %d", node, int64(maxNode))
	}
	b := &Backfill{st: st, name: namespace, scheme: s, node: node}
	_, _, err := b.look(ctx, nil)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// NewAt returns an ID of each time. It swaps one record of the store for each hour, so ask for many
// at once.
//
// A time that is yet to come, or before the epoch of its layout, is an [ErrInvalid]. A second
// whose IDs are used up is an [ErrFull]: take another node or time. After a store was rolled back,
// it is an [ErrRolledBack] until an operator names other nodes ([Operator.BackfillNodes]).
func (b *Backfill) NewAt(ctx context.Context, times ...time.Time) ([]snowfence.ID, error) {
	w := world.From(ctx)
	ids := make([]snowfence.ID, len(times))
	todo := make([]int, len(times))
	for i := range todo {
		todo[i] = i
	}
	slices.SortStableFunc(todo, func(i, j int) int { return times[i].Compare(times[j]) })
	for attempt := 0; len(todo) > 0; {
		left, err := b.round(ctx, ids, times, todo)
		switch {
		case err != nil:
			return nil, err
		case len(left) < len(todo):
			attempt = 0
		case w.Wait(world.Jitter(w, attempt), ctx.Done()) == 0:
			return nil, fmt.Errorf("lease: others were always faster: %w", ctx.Err())
		default:
			attempt++
		}
		todo = left
	}
	return ids, nil
}

// wantedID is an ID that is still to be made.
type wantedID struct {
	i int // which
	pastSecond
}

// round makes the IDs of the first hours, and returns those that are left.
func (b *Backfill) round(ctx context.Context, dst []snowfence.ID, times []time.Time, todo []int) ([]int, error) {
	now := world.From(ctx).Now()
	b.mu.Lock()
	known := b.seen.namespace
	b.mu.Unlock()
	wants, left, err := b.locate(known, times, todo, now)
	if err != nil {
		return nil, err
	}
	hours := slices.CompactFunc(slices.Clone(wants), func(x, y wantedID) bool { return x.hour() == y.hour() })
	keys := make([]store.Key, len(hours))
	for i, h := range hours {
		keys[i] = pastKey(b.name, b.node, h.hour())
	}
	ns, stored, err := b.look(ctx, keys)
	if err != nil {
		return nil, err
	}
	if ns.Generation != known.Generation || ns.ledger.Epoch != known.ledger.Epoch {
		return todo, nil // its layout may be another one
	}
	writes := make([]store.Write, 0, len(keys))
	taken := make([][]madeID, 0, len(keys))
	rest := wants
	top := time.Time{}
	for _, r := range stored {
		n := 1
		for n < len(rest) && rest[n].hour() == rest[0].hour() {
			n++
		}
		write, ids, err := b.count(ctx, ns, r, rest[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range ids {
			if at := m.era.layout.TimeOf(m.parts.Tick); at.After(top) {
				top = at
			}
		}
		writes, taken, rest = append(writes, write), append(taken, ids), rest[n:]
	}
	if top.UnixMilli() >= ns.ledger.Until {
		if ns, err = b.raise(ctx, ns, now); errors.Is(err, store.ErrLost) {
			return todo, nil
		} else if err != nil {
			return nil, err
		}
	}
	errs := b.st.Swap(ctx, writes)
	var unknown error
	for i, err := range errs {
		switch {
		case err == nil:
			b.remember(ns, writes[i].New)
		case errors.Is(err, store.ErrLost):
			for _, m := range taken[i] {
				left = append(left, m.i) // a later round replaces its ID
			}
		default:
			unknown = err
		}
	}
	if unknown != nil {
		return nil, fmt.Errorf("lease: counting IDs of namespace %q for the past: %w", b.name, unknown)
	}
	after, _, err := b.look(ctx, nil)
	if err != nil {
		return nil, err
	}
	if after.Generation != ns.Generation || after.ledger.Epoch != ns.ledger.Epoch {
		return todo, nil // what was taken may be of a store or a layout that is over
	}
	for _, ids := range taken {
		for _, m := range ids {
			if dst[m.i], err = m.era.scheme.Compose(m.parts); err != nil {
				return nil, fmt.Errorf("lease: namespace %q: an ID of %s: %w", b.name, showTime(times[m.i]), err)
			}
		}
	}
	slices.SortStableFunc(left, func(i, j int) int { return times[i].Compare(times[j]) })
	return left, nil
}

// locate finds the seconds of the first hours. todo is sorted by time.
func (b *Backfill) locate(ns Namespace, times []time.Time, todo []int, now time.Time) ([]wantedID, []int, error) {
	eras, err := pastEras(ns, b.scheme)
	if err != nil {
		return nil, nil, err
	}
	var wants []wantedID
	var s pastSecond
	hours := map[int64]bool{}
	for n, i := range todo {
		t := times[i]
		if n == 0 || !s.holds(t) {
			s = slotOf(eras, t, now)
		}
		if err := b.servable(ns, s, t, now); err != nil {
			return nil, nil, err
		}
		if !hours[s.hour()] && len(hours) == pastRound {
			slices.SortStableFunc(wants, byHour)
			return wants, slices.Clone(todo[n:]), nil
		}
		hours[s.hour()] = true
		wants = append(wants, wantedID{i, s})
	}
	slices.SortStableFunc(wants, byHour)
	return wants, nil, nil
}

// byHour orders what is wanted; ticks longer than a second leave it out of the order of time.
func byHour(a, b wantedID) int { return cmp.Compare(a.hour(), b.hour()) }

// servable returns why a time gets no ID, whatever its counts say.
func (b *Backfill) servable(ns Namespace, s pastSecond, t, now time.Time) error {
	fail := func(format string, args ...any) error {
		return invalidf("lease: namespace %q makes no ID of %s: "+format,
			append([]any{b.name, showTime(t)}, args...)...)
	}
	switch l := s.era.layout; {
	case t.After(now):
		return fail("it is %s, and that time is yet to come: use a generator for new IDs", showTime(now))
	case t.Before(l.Epoch):
		return fail("the layout %s begins with its epoch: take a later time", l)
	case l.TickOf(t) > s.era.scheme.MaxTick():
		return fmt.Errorf("lease: namespace %q makes no ID of %s: %w: the time of the layout %s ended at %s",
			b.name, showTime(t), snowfence.ErrLifetime, l, showTime(l.EndOfLife()))
	case !s.era.holds(t):
		return fail("the layouts since %s use all sequence numbers: take an earlier time", showTime(s.era.until))
	case b.node >= s.era.scheme.Nodes():
		return fail("its layout then, %s, has the nodes 0 to %d, not %d: take another node",
			l, s.era.scheme.Nodes()-1, b.node)
	case s.hour() >= 1<<hourBits:
		return fail("hours are counted from 1900 to 3813")
	case s.last < s.first:
		return fail("no tick of a layout with reserved numbers begins in that second: take a later one")
	}
	return nil
}

// madeID is an ID that a swap makes.
type madeID struct {
	wantedID
	parts snowfence.Parts
}

// count returns the record of an hour with the IDs that are wanted of it, and these IDs.
func (b *Backfill) count(
	ctx context.Context, ns Namespace, r store.Record, wants []wantedID,
) (store.Write, []madeID, error) {
	c, full, err := counts{}, false, error(nil)
	if r.Nonce != "" {
		c, full, err = parseCounts(r.Data, ns.ledger.Epoch)
	}
	switch {
	case err != nil:
		return store.Write{}, nil, fmt.Errorf("lease: namespace %q: the hour of %s: %w", b.name, wants[0].shown(), err)
	case full:
		return store.Write{}, nil, b.fullError(wants[0],
			"were counted before the store was rolled back: take a time of another hour")
	}
	var ids []madeID
	for _, w := range wants {
		n := int64(c[w.index()])
		if n >= w.capacity() {
			return store.Write{}, nil, b.fullError(w, "")
		}
		c[w.index()]++
		ids = append(ids, madeID{w, w.parts(n, b.node)})
	}
	world := world.From(ctx)
	next := store.Record{
		Key: r.Key, Nonce: world.Text(), Revision: r.Revision + 1, Generation: ns.Generation,
		At: world.Now().UnixMilli(), Data: c.text(ns.ledger.Epoch),
	}
	return store.Write{Old: r.Nonce, New: next}, ids, nil
}

func (w wantedID) shown() string { return showTime(time.Unix(w.second-beforeUnix, 0)) }

// fullError says what to do about a second, or with why about an hour, that has no ID left.
func (b *Backfill) fullError(w wantedID, why string) error {
	if why != "" {
		return fmt.Errorf("lease: namespace %q, node %d: %w for the hour of %s: its IDs %s",
			b.name, b.node, ErrFull, w.shown(), why)
	}
	return fmt.Errorf("lease: namespace %q, node %d: %w for the second of %s, which had %d: "+
		"ask for fewer, or take another node or time", b.name, b.node, ErrFull, w.shown(), w.capacity())
}

// raise writes that ticks up to now may be used. A change of layout puts its floor above them.
func (b *Backfill) raise(ctx context.Context, ns Namespace, now time.Time) (Namespace, error) {
	if _, err := checkedClock(ctx, b.st, world.From(ctx).Now, pastSkew); err != nil {
		return ns, err
	}
	ns.ledger.Until = now.UnixMilli() + 1
	return ns.write(ctx, b.st)
}

// look reads the namespace and counts, and returns why no ID is made, if so.
func (b *Backfill) look(ctx context.Context, keys []store.Key) (Namespace, []store.Record, error) {
	fail := func(err error) (Namespace, []store.Record, error) { return Namespace{}, nil, err }
	b.mu.Lock()
	seen, dead := b.seen, b.dead
	b.mu.Unlock()
	if dead != nil {
		return fail(dead)
	}
	all := append([]store.Key{{Namespace: b.name, Node: store.NamespaceNode}}, keys...)
	last := slices.Index(all, seen.record.Key)
	if last < 0 && seen.record.Nonce != "" {
		last = len(all)
		all = append(all, seen.record.Key)
	}
	rs, err := b.st.Get(ctx, all)
	if err != nil {
		return fail(fmt.Errorf("lease: reading namespace %q: %w", b.name, err))
	}
	id, err := b.st.Identity(ctx, b.name)
	if err != nil {
		return fail(fmt.Errorf("lease: reading the store's identity: %w", err))
	}
	ns, err := namespaceOf(b.st, rs[0])
	if err != nil {
		return fail(err)
	}
	if err := ns.usable(b.scheme); err != nil {
		return fail(err)
	}
	if err := b.compare(ctx, seen, ns, rs[max(last, 0)]); err != nil {
		return fail(err)
	}
	switch _, added, err := ns.rotated(b.scheme, false); {
	case err != nil:
		return fail(err)
	case added:
		return fail(fmt.Errorf("lease: namespace %q: %w: it does not know the last secret: create it again with all "+
			"secrets, which changes nothing else", b.name, snowfence.ErrKey))
	case ns.Backfill == 0:
		return fail(ns.notAllowed())
	case id != ns.ledger.Identity:
		return fail(fmt.Errorf("lease: namespace %q makes no IDs for the past: %w, because it was rolled back or "+
			"replaced: name nodes that no such ID has (snowfence namespace change --past-nodes)", b.name,
			ErrRolledBack))
	case !ns.fills(b.node):
		return fail(refusedf("lease: namespace %q: node %d makes no more IDs for the past, because the store was rolled "+
			"back: use the nodes %d to %d", b.name, b.node, ns.BackfillNodes.From, ns.BackfillNodes.Until-1))
	}
	b.remember(ns, store.Record{})
	return ns, rs[1 : 1+len(keys)], nil
}

// compare looks for a store that was rolled back behind this Backfill, with or without another
// identity. It notes that in the namespace, so that nobody uses the counts.
func (b *Backfill) compare(ctx context.Context, seen witnessed, ns Namespace, last store.Record) error {
	same := seen.namespace.ledger.Epoch == ns.ledger.Epoch
	less := ns.Generation < seen.namespace.Generation
	was := seen.record
	older := last.Revision < was.Revision || last.Revision == was.Revision && last.Nonce != was.Nonce
	gone := ns.ledger.Epoch == "" && !same || same && was.Nonce != "" && older
	if !less && !gone {
		return nil
	}
	if gone && ns.Generation <= seen.namespace.Generation {
		if err := b.st.Suspect(ctx, ns.Identity); err != nil {
			return fmt.Errorf("lease: giving the store another identity: %w", err)
		}
	}
	err := fmt.Errorf("lease: namespace %q makes no IDs for the past: %w that it had acknowledged: name nodes that "+
		"no such ID has (snowfence namespace change --past-nodes), and then open one of them", b.name, ErrRolledBack)
	if same || ns.ledger.Epoch == "" {
		_, noted := editNamespace(ctx, b.st, b.name, func(ns *Namespace) (bool, error) {
			ns.rolledBack(world.From(ctx).Now())
			return true, nil
		})
		if noted != nil {
			return noted // it is tried again
		}
	}
	b.mu.Lock()
	b.dead = err
	b.mu.Unlock()
	return err
}

// remember notes what the store has shown or acknowledged. Of two writes that cross, any will do.
func (b *Backfill) remember(ns Namespace, written store.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen.namespace.ledger.Epoch != ns.ledger.Epoch {
		b.seen = witnessed{}
	}
	if b.seen.namespace.Generation <= ns.Generation {
		b.seen.namespace = ns
	}
	if written.Nonce != "" && (written.Key != b.seen.record.Key || written.Revision > b.seen.record.Revision) {
		b.seen.record = written
	}
}

func showTime(t time.Time) string {
	if y := t.Year(); y < 1 || y > 9999 {
		return fmt.Sprintf("the Unix second %d", min(max(t.Unix(), math.MinInt64), math.MaxInt64))
	}
	return t.UTC().Format(time.RFC3339Nano)
}
