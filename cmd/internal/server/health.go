package server

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// Health is the state of the server's own lease in a namespace.
type Health struct {
	lease.Status

	Left   time.Duration // how long IDs go on if the store becomes unreachable; 0 when none are made
	Begins time.Time     // the first moment of a grant that lies in the future; zero when it began
}

// Health returns the state of the server's own lease; false without one.
func (own *OwnLease) Health(now time.Time) (Health, bool) {
	st, ok := own.Status()
	h := Health{Status: st}
	if !ok || !st.Held {
		return h, ok
	}
	l := own.space.Scheme().Layout()
	if from := l.TimeOf(st.Grant.From - own.core.opts.Lead); from.After(now) {
		h.Begins = from
		return h, ok
	}
	h.Left = max(0, l.TimeOf(st.Grant.Until).Sub(now))
	return h, ok
}

// Waits returns how long callers wait for a grant that lies in the future,
// and 0 where it began.
func (h Health) Waits(now time.Time) time.Duration {
	if h.Begins.IsZero() {
		return 0
	}
	return h.Begins.Sub(now)
}

// Lapsed reports whether the lease ran out because no client asked for IDs.
func (own *OwnLease) Lapsed(now time.Time) bool {
	h, ok := own.Health(now)
	return ok && h.Left == 0 && h.Begins.IsZero() && h.Trouble == nil
}

// Err returns why no IDs are made now, of a lease that is wanted. A lease
// that ran out because no client asked for IDs is fine, and so is a grant
// that begins before requests give up.
func (own *OwnLease) Err(now time.Time) error {
	h, ok := own.Health(now)
	switch wait := h.Waits(now); {
	case !ok:
		return nil
	case wait > own.core.opts.MaxWait:
		return own.waitError(h, now)
	case h.Trouble == nil || h.Held && h.Left > 0:
		return nil
	}
	return fmt.Errorf("namespace %q: no lease is held: %w", own.space.Name, h.Trouble)
}

func (own *OwnLease) waitError(h Health, now time.Time) error {
	return fmt.Errorf("namespace %q makes no IDs for %v: the grant of node %d begins at %s, above all earlier grants",
		own.space.Name, h.Waits(now).Round(time.Second), h.Grant.Node, h.Begins.UTC().Format(time.RFC3339))
}

// Lead returns how far the next ID is ahead of the clock, and false when no
// ID can be made.
func (own *OwnLease) Lead(now time.Time) (time.Duration, bool) {
	g := own.gen.Load()
	if h, ok := own.Health(now); g == nil || !ok || h.Left == 0 {
		return 0, false
	}
	return g.Ahead(), true
}
