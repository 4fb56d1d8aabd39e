package server

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
)

// IDs makes IDs for requests. All methods are safe for concurrent use.
type IDs struct {
	core    *Core
	spaces  *Spaces
	buffers [21]sync.Pool // of *[]snowfence.ID, for large batches: of 1<<i IDs each
}

// Order is a request for IDs.
type Order struct {
	Namespace string
	Count     int64
	Tag       *int64 // nil for none
	Room      int64  // of the answer, in bytes
	Wrong     error  // a mistake in the request; a caller without the right learns of none
}

// MaxBatch is the largest number of IDs in one answer.
const MaxBatch = 1_000_000

// Admit returns the namespace of an order that its caller may make, with
// room for the answer. The order counts as n IDs for the caller's rate.
func (s *IDs) Admit(ctx context.Context, c *Caller, o Order, n int64) (*Space, error) {
	if o.Wrong == nil && (o.Count < 1 || o.Count > MaxBatch) {
		o.Wrong = Errorf(Invalid, "%d IDs: ask for 1 to %d at a time", o.Count, MaxBatch)
	}
	if o.Wrong != nil {
		n = 1
	}
	sp, err := s.spaces.Admit(ctx, c.Identity, VerbIDs, o.Namespace, n)
	if err = cmp.Or(err, o.Wrong); err == nil {
		err = sp.CheckTag(o.Tag)
	}
	if err == nil {
		err = s.core.Reserve(c, o.Room)
	}
	return sp, err
}

// Batch makes the IDs of an order, and calls use with all of them, once.
// The slice is not to be kept.
func (s *IDs) Batch(ctx context.Context, c *Caller, o Order, use func([]snowfence.ID)) error {
	o.Room += 8 * (1<<bits.Len64(uint64(o.Count-1)) - o.Count) // what the buffer has beyond it
	sp, err := s.Admit(ctx, c, o, o.Count)
	if err != nil {
		return err
	}
	return s.makeBatch(ctx, sp, int(o.Count), o.Tag, use)
}

// Runs makes the IDs of an order as runs.
func (s *IDs) Runs(ctx context.Context, c *Caller, o Order) ([]snowfence.Run, error) {
	sp, err := s.Admit(ctx, c, o, o.Count)
	if err == nil {
		err = s.core.Reserve(c, sp.RunsRoom(o.Count))
	}
	if err != nil {
		return nil, err
	}
	return sp.Runs(ctx, o.Count, o.Tag)
}

// Backfill makes the IDs of an order for a time gone by, of a node without
// a holder.
func (s *IDs) Backfill(ctx context.Context, c *Caller, o Order, at time.Time, node int64) ([]snowfence.ID, error) {
	o.Room += 256 * min(o.Count, mostPast)
	sp, err := s.Admit(ctx, c, o, o.Count)
	if err != nil {
		return nil, err
	}
	return sp.Backfill(ctx, at, node, o.Count, o.Tag)
}

// Stream makes IDs until there are total, 0 for no end, or until use fails.
// It calls use with one piece after the other: at most as many IDs as the
// order has, and as many as the rate of the caller lets through. The layout
// and the rights may change in between.
func (s *IDs) Stream(ctx context.Context, c *Caller, o Order, total uint64, use func([]snowfence.ID) error) error {
	if _, err := s.Admit(ctx, c, o, 0); err != nil { // its pieces count
		return err
	}
	for left := total; total == 0 || left > 0; {
		n := o.Count
		if total > 0 {
			n = int64(min(uint64(n), left))
		}
		sp, err := s.spaces.Admit(ctx, c.Identity, VerbIDs, o.Namespace, 0)
		if err == nil {
			n, err = c.Pace(ctx, n)
		}
		var sent error
		if err == nil {
			err = s.makeBatch(ctx, sp, int(n), o.Tag, func(ids []snowfence.ID) { sent = use(ids) })
		}
		if err = cmp.Or(err, sent); err != nil {
			return err
		}
		left -= uint64(n)
	}
	return nil
}

// makeBatch makes n IDs with a tag that was checked, and calls use with
// them.
func (s *IDs) makeBatch(ctx context.Context, sp *Space, n int, tag *int64, use func([]snowfence.ID)) error {
	if err := context.Cause(ctx); err != nil { // a client that asks and leaves, again and again, costs nothing here
		return err
	}
	ids, done := s.takeBuffer(n)
	defer done()
	got, err := sp.Fill(ctx, ids)
	if err != nil && n > 1 {
		err = fmt.Errorf("after %d of %d IDs: %w", got, n, err)
	}
	if err == nil {
		err = sp.setTag(ids, tag)
	}
	if err == nil {
		use(ids)
	}
	return err
}

// smallBatch is the largest batch without a buffer that is used again.
const smallBatch = 1000

// takeBuffer returns a slice for n IDs. Large ones are used again: a client
// that asks for millions and leaves would otherwise fill the memory faster
// than it is collected.
func (s *IDs) takeBuffer(n int) (ids []snowfence.ID, done func()) {
	if n <= smallBatch {
		return make([]snowfence.ID, n), func() {}
	}
	class := bits.Len(uint(n - 1))
	p, _ := s.buffers[class].Get().(*[]snowfence.ID)
	if p == nil {
		ids := make([]snowfence.ID, 1<<class)
		p = &ids
	}
	return (*p)[:n], func() { s.buffers[class].Put(p) }
}
