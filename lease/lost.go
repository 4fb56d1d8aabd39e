package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowfence/snowfence"
)

// lostError says why nothing that was granted may be used any more.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }

func (e *lostError) Unwrap() error { return e.cause }

func lost(err error) bool {
	var e *lostError
	return errors.As(err, &e)
}

// lose forgets what is held. The caller returns at once, because a loss seals first.
func (c *claim) lose(cause error) error {
	c.held = nil
	return &lostError{cause}
}

// loseHold is lose after a swap that was lost to another holder or to a rollback.
// [claim.diagnose] tells which, by met: what stood there, nil if that was not read.
func (c *claim) loseHold(met []Record, cause error) error {
	c.lostHold, c.foundInstead = c.held, met
	return c.lose(cause)
}

// sealIfLost seals the generator after a loss, before anything else happens.
func (l *Lease) sealIfLost(err error) error {
	if !lost(err) {
		return err
	}
	l.mu.Lock()
	seal, had := l.seal, l.use.cur != nil
	l.drop(err)
	l.mu.Unlock()
	if seal != nil {
		seal()
	}
	if had {
		l.claim.report(EventLost, err, "label", l.opts.Label)
	}
	return err
}

// heal acquires again after a loss, or asks whether the store was replaced.
// It returns what is still wrong. It needs ops.
func (l *Lease) heal(ctx context.Context, err error) error {
	if lost(err) && !fatal(err) {
		err = l.attempt(ctx)
	}
	if err != nil && !lost(err) {
		err = l.sealIfLost(l.claim.replaced(ctx, err))
	}
	return err
}

// fatal reports whether a lease cannot heal from err.
func fatal(err error) bool {
	var m *MismatchError
	return errors.As(err, &m) || errors.Is(err, ErrReplaced) || errors.Is(err, snowfence.ErrLifetime) ||
		errors.Is(err, errDeleted)
}

// resolve reads what is stored after lost replies. It adopts an own unanswered write
// as the base of the next one, and uses nothing of it before that one is acknowledged.
// A write of somebody else is a loss.
func (c *claim) resolve(ctx context.Context) error {
	h := c.held
	stored, err := c.st.Get(ctx, keys(h.records))
	if err != nil {
		return fmt.Errorf("lease: reading node %d: %w", h.records[0].Node, err)
	}
	for i, r := range stored {
		if r.Nonce != h.records[i].Nonce && !h.unanswered[r.Nonce] {
			return c.loseHold(stored,
				fmt.Errorf("node %d was changed by somebody else while the store did not answer", r.Node))
		}
	}
	h.records = stored
	for _, r := range stored {
		h.from = max(h.from, r.From) // a lapsed grant that was taken anew leaves out what lies between
	}
	return nil
}

// diagnose looks at what a lost swap met, to tell another holder from a store that was rolled back.
func (c *claim) diagnose(ctx context.Context) error {
	h := c.lostHold
	switch {
	case h == nil:
		return nil
	case c.foundInstead != nil:
		c.noticeRollback(h, c.foundInstead)
		c.lostHold, c.foundInstead = nil, nil
		return nil
	}
	stored, err := c.st.Get(ctx, append(keys(h.records), Key{c.name, NamespaceNode}))
	if err != nil {
		return fmt.Errorf("lease: reading node %d, which was lost: %w", h.records[0].Node, err)
	}
	last := len(stored) - 1
	if stored[last].Generation < h.generation {
		c.suspect = &h.generation // the namespace itself was rolled back
	}
	c.noticeRollback(h, stored[:last])
	c.lostHold = nil
	return nil
}

// noticeRollback sees whether the store lost what it had acknowledged.
func (c *claim) noticeRollback(h *hold, stored []Record) {
	for i, r := range stored {
		if r.Nonce == "" || r.Revision < h.records[i].Revision {
			c.suspect = &h.generation
			c.showFirst(r.Key)
			c.report(EventRolledBack, nil, "node", r.Node, "revision", r.Revision,
				"acknowledged", h.records[i].Revision)
		}
	}
}

// replaced looks whether an error of the store comes from its being another one by now.
// Then what was granted by the old one protects nobody, and is lost at once; otherwise it
// returns err, and the grant may be used to its end.
func (c *claim) replaced(ctx context.Context, err error) error {
	if !errors.Is(err, ErrReplaced) {
		if _, why := c.st.Identity(ctx, c.name); errors.Is(why, ErrReplaced) {
			err = why
		}
	}
	if errors.Is(err, ErrReplaced) {
		return c.lose(err)
	}
	return err
}

// raiseSuspected raises the floor after the store rolled back, unless somebody has done it already.
func (c *claim) raiseSuspected(ctx context.Context) error {
	// A later generation than that of our last grant was not there before, so it was written after.
	after := *c.suspect
	return c.raiseFloor(ctx, func(ns Namespace, _ string) bool {
		return ns.Generation > after && ns.Floor >= c.reached // usable looks at the identity
	})
}

// raiseIfSuspected raises the floor if the store was rolled back behind what the ticket says, as a
// lease does before its next grant.
func (c *claim) raiseIfSuspected(ctx context.Context) error {
	if c.suspect == nil {
		return nil
	}
	return c.raiseSuspected(ctx)
}

// raiseFloor makes all grants from now on start above everything that can have been
// granted in a store that was rolled back: now + the longest ttl + twice the allowed skew, as
// [Options.AfterRollback] has it. All holders lose their grants by the new generation. Nothing is
// done if, by the namespace and the store's identity, somebody else has done it already.
func (c *claim) raiseFloor(ctx context.Context, done func(ns Namespace, id string) bool) error {
	for asked := 0; ; asked++ {
		ns, err := readNamespace(ctx, c.st, c.name)
		if errors.Is(err, ErrNoNamespace) && c.opts.Create { // a deleted one is read, and not usable
			ns, err = CreateNamespace(ctx, c.st, c.name, c.scheme, nil)
		}
		if err != nil {
			return err
		}
		if err := ns.usable(c.scheme); err != nil {
			return err
		}
		id, err := c.st.Identity(ctx, c.name)
		if err != nil {
			return fmt.Errorf("lease: asking the store who it is: %w", err)
		}
		if done(ns, id) {
			return nil
		}
		if ns.watched {
			if asked == maxAsked {
				err := fmt.Errorf("lease: namespace %q: the server raises the floor no further", c.name)
				return marked{err, ErrRefused}
			}
			if err := c.ask(ctx, ns, c.seen); err != nil {
				return err
			}
			continue
		}
		now, err := c.clock(ctx) // a clock that is known to be off must not move everybody's floor
		if err != nil {
			return err
		}
		longest := max(ns.LongestTTL, c.reach())
		// Whoever wrote furthest may have been ahead, which longest counts in, and our
		// own clock may be behind.
		ns.Floor = max(ns.Floor, c.ticks.layout.TickOf(now.Add(longest+c.opts.MaxSkew))+1, c.reached)
		ns.LongestTTL, ns.Identity = longest, id
		if c.suspect != nil {
			ns.Generation = max(ns.Generation, *c.suspect) // so that it says to all who saw the same that it was done
		}
		ns.Generation++
		if _, err = ns.write(ctx, c.st); !errors.Is(err, ErrLost) {
			if err == nil {
				c.report(EventFloorRaised, nil, "until", c.ticks.layout.TimeOf(ns.Floor))
			}
			return err
		}
	}
}

// outwait is for a lease that saw a rollback of the store, without what proves it to the server.
// It takes no grant that may begin before the end of all its own: it waits until they lie in the
// past.
func (c *claim) outwait(ctx context.Context, refused error) error {
	now, err := c.clock(ctx)
	if err != nil {
		return err
	}
	if c.ticks.back(now) >= c.reached {
		return nil
	}
	free := c.ticks.layout.TimeOf(c.reached).Add(c.opts.TTL)
	return fmt.Errorf("lease: namespace %q: the store lost what it had acknowledged, "+
		"and the server cannot see it; waiting until %s, when no ID can come twice: %v",
		c.name, free.Format(time.RFC3339), refused)
}

// report logs an event, and keeps it for announce.
func (c *claim) report(kind EventKind, cause error, attrs ...any) {
	level := slog.LevelWarn
	if kind == EventRolledBack || kind == EventReplaced {
		level = slog.LevelError
	}
	attrs = append([]any{"namespace", c.name}, attrs...)
	if cause != nil {
		attrs = append(attrs, "cause", cause)
	}
	c.opts.Logger.Log(context.Background(), level, string(kind), attrs...)
	if c.opts.Events != nil {
		c.events = append(c.events, Event{kind, c.name, c.opts.Label, cause})
	}
}
