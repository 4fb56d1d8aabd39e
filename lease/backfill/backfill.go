// Package backfill makes IDs with times of the past, for rows that are
// older than their IDs.
package backfill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

// ErrRolledBack means that the store may have lost counts: see
// [scope.Operator.BackfillNodes].
var ErrRolledBack = fault.ErrRolledBack

// ErrFull means that a node has no ID left for a second of the past.
var ErrFull = errors.New("no ID is left")

// pastRound bounds how many hours are counted in one go.
const pastRound = 128

// Backfill makes IDs for times in the past. It is safe for concurrent use,
// and has nothing to close: it keeps no ID in memory.
//
// Such an ID has a sequence number below the first of its layout, which no
// generator uses. Within a second, a node uses each pair of tick and
// sequence number once. A record of the store counts them, and is raised
// before an ID is used. So many processes may share a node, and a crash
// only loses the IDs that the process had taken.
type Backfill struct {
	st     store.Store
	name   string
	scheme *snowfence.Scheme
	node   int64

	mu   sync.Mutex // guards what follows, and is not held while the store is asked
	seen witnessed
	dead error // why another Backfill must be opened
}

// witnessed is the highest count that the store has shown or acknowledged.
// A store that shows less was rolled back.
type witnessed struct {
	namespace scope.Namespace // as read last
	record    store.Record    // count that was written last
}

// Open returns a Backfill for one node. It takes no lease. The
// namespace must allow it ([scope.Operator.AllowBackfill]), and s is the
// scheme of its present layout.
//
// A time gets the layout that the namespace had then, and a time before the
// first layout gets the first one. That layout must have the node, and
// reserved numbers. An ID has the second of its time. Within a second, IDs
// use the ticks in order, from the first one on. With ticks of 1 ms, a node
// has 1000 IDs for each second with the number 0, and 5000 with 0 to 4.
func Open(ctx context.Context, st store.Store, namespace string, s *snowfence.Scheme, node int64) (*Backfill, error) {
	if err := fault.Check(st, namespace, s); err != nil {
		return nil, err
	}
	if node < 0 || node > scope.MaxBackfillNode {
		return nil, fault.Invalidf("lease: node %d: IDs for the past have the nodes 0 to %d", node,
			int64(scope.MaxBackfillNode))
	}
	b := &Backfill{st: st, name: namespace, scheme: s, node: node}
	if _, _, _, err := b.readCounts(ctx, nil); err != nil {
		return nil, err
	}
	return b, nil
}

// NewAt returns an ID for each time. It swaps one record of the store for
// each hour, so ask for many at once.
//
// It returns lease.ErrInvalid for a time in the future, or before the epoch
// of its layout. It returns [ErrFull] when the IDs of a second are used up:
// take another node or time. After a store was rolled back, it returns
// [ErrRolledBack] until an operator names other nodes
// ([scope.Operator.BackfillNodes]).
func (b *Backfill) NewAt(ctx context.Context, times ...time.Time) ([]snowfence.ID, error) {
	w := world.From(ctx)
	ids := make([]snowfence.ID, len(times))
	todo := make([]int, len(times))
	for i := range todo {
		todo[i] = i
	}
	slices.SortStableFunc(todo, func(i, j int) int { return times[i].Compare(times[j]) })
	for attempt := 0; len(todo) > 0; attempt++ {
		left, err := b.round(ctx, ids, times, todo)
		if err != nil {
			return nil, err
		}
		if len(left) == len(todo) && w.Wait(world.Jitter(w, attempt), ctx.Done()) == 0 {
			return nil, fmt.Errorf("lease: other processes changed the record before each try: %w", ctx.Err())
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
	ns, stored, a, err := b.readCounts(ctx, keys)
	if err != nil {
		return nil, err
	}
	if ns.Generation != known.Generation {
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
	if ns, err = ns.NoteUsed(ctx, b.st, a, top, now); errors.Is(err, store.ErrLost) {
		return todo, nil
	} else if err != nil {
		return nil, err
	}
	errs, _, wrote := b.st.Swap(ctx, writes)
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
	after, _, a, err := b.readCounts(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := a.Follows(wrote); err != nil {
		return nil, fmt.Errorf("lease: namespace %q: %w", b.name, err)
	}
	if after.Generation != ns.Generation || after.Epoch() != ns.Epoch() {
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
func (b *Backfill) locate(ns scope.Namespace, times []time.Time, todo []int, now time.Time) ([]wantedID, []int, error) {
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

// byHour orders the wanted IDs by hour. With ticks longer than a second,
// that is not the order of time.
func byHour(a, b wantedID) int { return cmp.Compare(a.hour(), b.hour()) }

func showTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
