package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/lessor"
	"github.com/snowfence/snowfence/lease"
)

// Health is how the server's own lease in a namespace is.
type Health struct {
	lease.Status

	Left   time.Duration // how long IDs go on if the store becomes unreachable; 0 when none are made
	Begins time.Time     // the first moment of a grant that lies in the future; zero when it began
}

// Health returns how the server's own lease is, and false when it has none.
func (sp *Space) Health(now time.Time) (Health, bool) {
	st, ok := sp.Status()
	h := Health{Status: st}
	if !ok || !st.Held {
		return h, ok
	}
	l := sp.Scheme().Layout()
	if from := l.TimeOf(st.Grant.From - sp.core.opts.Lead); from.After(now) {
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
func (sp *Space) Lapsed(now time.Time) bool {
	h, ok := sp.Health(now)
	return ok && h.Left == 0 && h.Begins.IsZero() && h.Trouble == nil
}

// Err returns why no IDs are made now, of a lease that is wanted. A lease
// that ran out because no client asked for IDs is fine, and so is a grant
// that begins before requests give up.
func (sp *Space) Err(now time.Time) error {
	h, ok := sp.Health(now)
	switch wait := h.Waits(now); {
	case !ok:
		return nil
	case wait > sp.core.opts.MaxWait:
		return sp.waitError(h, now)
	case h.Trouble == nil || h.Held && h.Left > 0:
		return nil
	}
	return fmt.Errorf("namespace %q: no lease is held: %w", sp.Name, h.Trouble)
}

// Late returns the errors that delay renewals, and nil if none is late.
func (s *Spaces) Late() error {
	var late []error
	for _, sp := range s.List() {
		st, _ := sp.Status()
		units := append(sp.lessor.Units(), lessor.Unit{Grant: st.Grant, Trouble: st.Trouble})
		for _, u := range units {
			if u.Trouble != nil {
				late = append(late, fmt.Errorf("namespace %q: the renewal of node %d is late: %w", sp.Name, u.Node,
					u.Trouble))
			}
		}
	}
	return errors.Join(late...)
}

func (sp *Space) waitError(h Health, now time.Time) error {
	return fmt.Errorf("namespace %q makes no IDs for %v: the grant of node %d begins at %s, above all earlier grants",
		sp.Name, h.Waits(now).Round(time.Second), h.Grant.Node, h.Begins.UTC().Format(time.RFC3339))
}

// WarnLater logs grants that begin so late that requests fail until then,
// each of them once.
func (s *Spaces) WarnLater(now time.Time) {
	for _, sp := range s.List() {
		h, _ := sp.Health(now)
		if h.Waits(now) <= s.core.opts.MaxWait || sp.warnTick.Swap(h.Grant.From) == h.Grant.From {
			continue
		}
		s.core.opts.Logger.Warn("a grant begins later", "namespace", sp.Name, "cause", sp.waitError(h, now))
	}
}

// RetryAfter returns when it makes sense to ask again after an error, in
// whole seconds.
func RetryAfter(err error) time.Duration {
	var wait *snowfence.WaitError
	if errors.As(err, &wait) {
		return max(time.Second, (wait.Missing + time.Second - 1).Truncate(time.Second))
	}
	return time.Second
}
