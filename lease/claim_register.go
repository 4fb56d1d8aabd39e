package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// register makes sure that the namespace exists, is for this scheme, and knows how far
// ahead this lease may write.
func (c *claim) register(ctx context.Context) error {
	if c.opts.Create {
		_, err := readNamespace(ctx, c.st, c.name)
		if errors.Is(err, ErrNoNamespace) {
			_, err = CreateNamespace(ctx, c.st, c.name, c.scheme, nil)
		}
		if err != nil {
			return err // not what the next read would say: that somebody must create the namespace
		}
	}
	_, err := c.usable(ctx)
	return err
}

// usable returns the namespace if it gives grants to this lease: active, for this scheme,
// in the store it was made in. What it does not know yet is added: a longer ttl, and the
// identity of a store that was moved, which raises the floor.
func (c *claim) usable(ctx context.Context) (Namespace, error) {
	for asked := 0; ; {
		ns, err := readNamespace(ctx, c.st, c.name)
		if err != nil {
			return Namespace{}, err
		}
		if err := ns.usable(c.scheme); err != nil {
			return Namespace{}, err
		}
		id, err := c.st.Identity(ctx, c.name)
		if err != nil {
			return Namespace{}, fmt.Errorf("lease: asking the store who it is: %w", err)
		}
		if n := c.opts.Node; n == nil && (ns.Last-ns.First+1 < int64(c.opts.Nodes)) {
			return Namespace{}, invalidf("lease: namespace %q has %d leasable nodes, fewer than a block of %d",
				c.name, ns.Last-ns.First+1, c.opts.Nodes)
		}
		c.watched = ns.watched
		keys, added, err := ns.rotated(c.scheme, false)
		switch {
		case err != nil:
			return Namespace{}, err
		case ns.watched && (id != ns.Identity || ns.LongestTTL < c.reach()):
			if asked++; asked > maxAsked {
				return Namespace{}, fmt.Errorf("lease: namespace %q is for the store %q, "+
					"and the server says that it is %q: ask again", c.name, ns.Identity, id)
			}
			if err := c.ask(ctx, ns, nil); err != nil {
				return Namespace{}, err
			}
			continue
		case id != ns.Identity:
			c.report(EventReplaced, nil, "was", ns.Identity, "is", id)
			if err := c.raiseFloor(ctx, func(ns Namespace, id string) bool { return ns.Identity == id }); err != nil {
				return Namespace{}, err
			}
			continue
		case ns.watched && added:
			return Namespace{}, fmt.Errorf("lease: namespace %q: %w: "+
				"the server does not know the last key: give it the key first", c.name, snowfence.ErrKey)
		case !added && ns.LongestTTL >= c.reach():
			return ns, nil
		}
		ns.Keys, ns.LongestTTL = keys, max(ns.LongestTTL, c.reach())
		ns, err = ns.write(ctx, c.st)
		if !errors.Is(err, ErrLost) {
			return ns, err
		}
	}
}

// reach is that of this lease's options.
func (c *claim) reach() time.Duration { return reach(c.opts.TTL, c.opts.MaxSkew) }

// raiseFloor makes all grants from now on start above everything that can have been
// granted in a store that was rolled back: now + the longest ttl + twice the allowed skew, as
// [AfterSetBack] has it. All holders lose their grants by the new generation. Nothing is
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

// raiseSuspected raises the floor after the store rolled back, unless somebody has done it already.
func (c *claim) raiseSuspected(ctx context.Context) error {
	// A later generation than that of our last grant was not there before, so it was written after.
	after := *c.suspect
	return c.raiseFloor(ctx, func(ns Namespace, _ string) bool {
		return ns.Generation > after && ns.Floor >= c.reached // usable looks at the identity
	})
}

// clock returns the time by which ticks are leased. A clock that is off from the store's
// by more than allowed is an [ErrSkew].
func (c *claim) clock(ctx context.Context) (time.Time, error) {
	return checkedClock(ctx, c.st, func() time.Time { now, _ := c.opts.Time(); return now }, c.opts.MaxSkew)
}

// checkedClock returns what a clock says, and an [ErrSkew] where a store that has a clock
// disagrees.
func checkedClock(ctx context.Context, st Store, read func() time.Time, skew time.Duration) (time.Time, error) {
	before := read()
	theirs, err := st.Now(ctx)
	if err != nil {
		return before, fmt.Errorf("lease: asking the store for its time: %w", err)
	}
	after := read()
	if theirs.IsZero() {
		return after, nil
	}
	// The store read its clock between our two readings.
	ahead, behind := before.Sub(theirs), theirs.Sub(after)
	if off := max(ahead, behind); off > skew {
		word := "ahead of"
		if behind > ahead {
			word = "behind"
		}
		return after, fmt.Errorf("lease: %w: this machine's clock is %v %s the store's, more than %v: set it right",
			ErrSkew, off.Round(time.Millisecond), word, skew)
	}
	return before, nil // the later one was not compared: the clock may have jumped ahead while we waited
}
