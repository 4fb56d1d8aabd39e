package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence"
)

// confirm decides whether a write that was acknowledged may be used: only if the
// namespace and the store are still the ones that it was made for.
func (c *claim) confirm(ctx context.Context, until int64) (none snowfence.Grant, err error) {
	h := c.held
	ns, err := c.reread(ctx)
	if errors.Is(err, ErrNoNamespace) {
		c.suspect = &h.generation
		return none, c.lose(err)
	}
	if err != nil {
		return none, err
	}
	// A store that was rolled back counts generations again, so that another one can have
	// the same number. An acquisition that began before and was written after that goes
	// by a floor that no longer holds.
	if ns.Generation == h.generation && !h.confirmed && ns.Floor != h.floor {
		return none, c.lose(fmt.Errorf("namespace %q was changed: its floor is tick %d, no longer %d",
			c.name, ns.Floor, h.floor))
	}
	if ns.Generation != h.generation || ns.State != Active {
		if ns.Generation < h.generation {
			c.suspect = &h.generation
		}
		return none, c.lose(fmt.Errorf("namespace %q was changed: it is %s in generation %d, no longer %d",
			c.name, ns.State, ns.Generation, h.generation))
	}
	id, err := c.st.Identity(ctx, c.name)
	switch {
	case err != nil:
		return none, fmt.Errorf("lease: asking the store who it is: %w", err)
	case id != ns.Identity:
		c.suspect = &h.generation
		return none, c.lose(fmt.Errorf("the store was %q and is %q now", ns.Identity, id))
	}
	h.confirmed = true
	c.reached = max(c.reached, until)
	return snowfence.Grant{Node: h.records[0].Node, From: h.from, Until: until, Nodes: int64(len(h.records))}, nil
}

// reread reads the namespace after a write of what is held, and over a server also what was
// written: so it has what proves later that the store had it.
func (c *claim) reread(ctx context.Context) (Namespace, error) {
	if !c.watched {
		return readNamespace(ctx, c.st, c.name)
	}
	h := c.held
	rs, err := c.st.Get(ctx, append(keys(h.records), Key{c.name, NamespaceNode}))
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: reading namespace %q: %w", c.name, err)
	}
	last := len(rs) - 1
	ns, err := namespaceOf(c.st, rs[last])
	if err != nil {
		return Namespace{}, err
	}
	for i, r := range rs[:last] {
		if r.Nonce != h.records[i].Nonce {
			return Namespace{}, c.loseHold(rs[:last],
				fmt.Errorf("node %d was changed by somebody else as soon as it was written", r.Node))
		}
	}
	c.seen = rs[:last]
	return ns, nil
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
