package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// checkedClock returns the time of a clock. It is [ErrSkew] if the store's
// clock disagrees.
func checkedClock(ctx context.Context, st store.Store, read func() time.Time, skew time.Duration) (time.Time, error) {
	before := read()
	theirs, err := st.Now(ctx)
	if err != nil {
		return before, fmt.Errorf("lease: asking the store for its time: %w", err)
	}
	after := read()
	if err := compareClocks(before, theirs, after, skew, "the store's"); err != nil {
		return after, err
	}
	if theirs.IsZero() {
		return after, nil
	}
	return before, nil // the clock may have jumped ahead before the second reading
}

// compareClocks is [ErrSkew] if a clock that was read between two readings
// of ours is further off than allowed. The zero time stands for no clock.
func compareClocks(before, theirs, after time.Time, skew time.Duration, whose string) error {
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
		ErrSkew, off.Round(time.Millisecond), word, whose, skew)
}
