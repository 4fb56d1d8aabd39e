package doctor

import (
	"context"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

const synchronise = "run chrony or systemd-timesyncd on this machine (on the host, for a container)"

// offBy is how far a clock may be off before it is a finding. Leases bear
// the largest skew, 15 s.
const offBy = time.Second

func clockSync(_ context.Context, _ *Case, r *report) {
	synced, most, err := synchronised()
	switch {
	case err != nil:
		r.unchecked([]string{ClockSync}, "", "%v", err)
	case !synced:
		r.found(ClockSync, "", synchronise, "nothing keeps this machine's clock right: the kernel calls it "+
			"unsynchronised")
	default:
		r.good(ClockSync, "", "the kernel calls this machine's clock synchronised, with an error of at most %v", most)
	}
}

// clockOffset compares this machine's clock with the store's, at the middle
// of the question.
func clockOffset(ctx context.Context, c *Case, r *report) {
	before := c.Now()
	told, err := store.Ask(ctx, c.Store.Leases, store.Servers)
	theirs := told.Now
	took := c.Now().Sub(before)
	switch {
	case err != nil:
		r.unchecked([]string{ClockOffset}, "", "asking the store for its time: %v", err)
		return
	case theirs.IsZero():
		r.unchecked([]string{ClockOffset}, "", "this store has no clock of its own")
		return
	}
	off := before.Add(took / 2).Sub(theirs)
	which := "ahead of"
	if off < 0 {
		which = "behind"
	}
	text := off.Abs().Round(time.Millisecond)
	if off.Abs()-took/2 > offBy {
		r.found(ClockOffset, "", synchronise+", and on the store's", "this machine's clock is %v %s the store's; "+
			"a lease is not renewed when it is off by more than the largest skew, 15s unless set", text, which)
		return
	}
	r.good(ClockOffset, "", "this machine's clock is %v %s the store's, give or take %v", text, which,
		(took / 2).Round(time.Microsecond))
}
