// Package answer has the answers of a store with their moments. They show
// whether this machine's clock is right.
package answer

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/internal/fault"
	"github.com/snowfence/snowfence/lease/store"
)

// Answer is a store's reply to a call of a namespace, and when it was asked
// for and came, by the pace of the world.
type Answer struct {
	store.Reply
	asked, came time.Time
}

// Read reads records of a namespace.
func Read(
	ctx context.Context, w world.World, st store.Store, keys ...store.Key,
) (rs []store.Record, a Answer, err error) {
	a.asked = w.Now()
	rs, a.Reply, err = st.Get(ctx, keys)
	a.came = w.Now()
	return rs, a, err
}

// Swap writes records of a namespace, and reads others after them if the
// store can do it in the same round trip; else rs is nil.
func Swap(
	ctx context.Context, w world.World, st store.Store, writes []store.Write, then ...store.Key,
) (errs []error, rs []store.Record, a Answer) {
	a.asked = w.Now()
	errs, rs, a.Reply = st.Swap(ctx, writes, then...)
	a.came = w.Now()
	return errs, rs, a
}

// Clock returns the time of a clock. It is [fault.ErrSkew] if the store's
// clock disagrees with it. Both clocks are assumed to have gone at the
// world's pace since the answer.
func (a Answer) Clock(w world.World, read func() time.Time, skew time.Duration) (time.Time, error) {
	at := w.Now()
	now := read()
	return now, CompareClocks(now.Add(a.asked.Sub(at)), a.Now, now.Add(a.came.Sub(at)), skew, "the store's")
}

// CompareClocks is [fault.ErrSkew] if a clock that was read between two
// readings of ours is further off than allowed. The zero time stands for no
// clock.
func CompareClocks(before, theirs, after time.Time, skew time.Duration, whose string) error {
	ahead, behind := before.Sub(theirs), theirs.Sub(after)
	off := max(ahead, behind)
	if theirs.IsZero() || off <= skew {
		return nil
	}
	word := "ahead of"
	if behind > ahead {
		word = "behind"
	}
	return fmt.Errorf("lease: %w: this machine's clock is %v %s %s, more than %v: correct the wrong one",
		fault.ErrSkew, off.Round(time.Millisecond), word, whose, skew)
}
