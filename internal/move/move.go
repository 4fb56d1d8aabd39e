// Package move moves a namespace or a sequence from one store to another.
package move

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// move is the state of a move.
type move struct {
	source, target store.Record
	was            Moved  // of the source
	is             string // identity of the target when it began to wait
	n              int64  // that the target has in the end
	reserved       bool   // the target waits for this data
	opened         bool   // the target has it already
}

// Run moves a namespace or a sequence, named by its head record, from a
// store to another one. It may be repeated, and goes on where it was
// interrupted.
//
// Invariant: a program uses its write only if it finds the head open
// afterwards, or if the write compared the head's generation. So a usable
// write came before the head was closed, and is copied after that. The copy
// is closed until it is complete. Only the data with the highest Moved.N is
// ever opened.
func Run(ctx context.Context, from, to store.Place, head store.Key, adopt Adopt) error {
	for w, attempt := world.From(ctx), 0; ; attempt++ {
		err := once(ctx, from, to, head, adopt)
		if !errors.Is(err, store.ErrLost) || w.Wait(world.Jitter(w, attempt), ctx.Done()) == 0 {
			return err
		}
	}
}

// Adopt returns the head r for a store with the identity is. Until now r
// was for a store with the identity was. It is an error if the program
// cannot read r, or if there is none.
type Adopt func(ctx context.Context, r store.Record, was, is string) (store.Record, error)

func once(ctx context.Context, from, to store.Place, head store.Key, adopt Adopt) error {
	m, err := plan(ctx, from, to, head, adopt)
	if err == nil && !m.opened {
		err = m.complete(ctx, from, to, head, adopt)
	}
	if err != nil || m.was.To != "" && m.was.Into == "" {
		return err
	}
	// From now on, older data in the target is not taken for an interrupted
	// move.
	return m.mark(ctx, from, Moved{ID: m.was.ID, N: m.n, To: to.Name})
}

// complete copies the source to the target, and opens the target.
func (m *move) complete(ctx context.Context, from, to store.Place, head store.Key, adopt Adopt) error {
	if !m.reserved {
		if err := m.reserve(ctx, to, from.Name); err != nil {
			return err
		}
	}
	if m.was.To == "" {
		away := Moved{ID: m.was.ID, N: m.n, To: to.Name, Into: m.target.Nonce}
		if err := m.mark(ctx, from, away); err != nil {
			return err
		}
	}
	if err := copyRecords(ctx, from, to, m.target); err != nil {
		return err
	}
	r, err := m.adopted(ctx, from, adopt)
	if err != nil {
		return err
	}
	// A source that was rolled back meanwhile may be open again.
	if again, _, err := headOf(ctx, from, head); err != nil || again.Nonce != m.source.Nonce {
		return errors.Join(err, fmt.Errorf("%s: %w", from.Name, store.ErrLost))
	}
	_, err = swap(ctx, to, m.target.Nonce, r)
	return err
}

// plan finds out how far the move is, or why it is refused.
func plan(ctx context.Context, from, to store.Place, head store.Key, adopt Adopt) (m move, err error) {
	var there Moved
	var reply store.Reply
	if m.source, _, err = headOf(ctx, from, head); err == nil {
		m.was, err = Of(m.source)
	}
	if err == nil {
		m.target, reply, err = headOf(ctx, to, head)
	}
	if err == nil {
		there, err = Of(m.target)
	}
	if err != nil {
		return m, err
	}
	open := m.was.To == ""
	if m.n = m.was.N; open {
		m.n++
	}
	same := there.ID == m.was.ID
	m.reserved = same && there.From != "" && there.N == m.n && (open || m.target.Nonce == m.was.Into)
	if m.is = reply.Identity; m.reserved {
		m.is = there.Identity
	}
	m.opened = same && there.Err() == nil && there.N >= m.n
	older := same && there.Err() != nil && there.N < m.n
	switch {
	case m.was.From != "" && !m.opened:
		return m, fmt.Errorf("%s: %w", from.Name, incomplete{})
	case m.opened:
		return m, nil
	case m.reserved, open && (m.target.Nonce == "" || older):
		_, err = m.adopted(ctx, from, adopt) // else the source would be closed in vain
		return m, err
	case open && same && m.n <= there.N: // a program may use what was moved on
		return m, fmt.Errorf("%s has older data of this name than %s, which knows a later move (%s), and nothing was "+
			"changed: start no program with %s", from.Name, to.Name, there.To+there.From, from.Name)
	case open && same && there.N < m.was.N:
		return m, fmt.Errorf("%s has older data of this name than %s, and nothing was changed: start no program with "+
			"%s, and close that by a move from it to %s", to.Name, from.Name, to.Name, from.Name)
	case open && same:
		return m, fmt.Errorf("%s has a copy of this data, and nothing was changed: if no program ever used it, take "+
			"an empty store, otherwise start no program with %s", to.Name, from.Name)
	case open:
		return m, fmt.Errorf("%s has records of its own under this name, and nothing was changed: take an empty store",
			to.Name)
	case same && there.To != "" && there.To != from.Name && there.N > m.n: // no mark in the source tells it
		return m, fmt.Errorf("it was moved from %s to %s, and from there to %s: give its programs that store",
			from.Name, to.Name, there.To)
	}
	backup := "has older data again, stop its programs, restore a backup from after the move"
	if m.was.Into != "" { // the source was never told that it is complete
		backup = "lost its part, stop all programs, restore a backup of " + from.Name + " from before the move"
	}
	return m, fmt.Errorf("it was moved from %s to %s, and %s does not have it: name the store that it was moved to; "+
		"if that store %s, and run snowfence store restored before one starts", from.Name, m.was.To, to.Name, backup)
}

// mark writes the mark next into the head of the source. Takes of a
// sequence may write the head at the same time. Closing it raises its
// generation, so that they fail.
func (m *move) mark(ctx context.Context, from store.Place, next Moved) (err error) {
	for {
		r := m.source
		if m.was.To == "" {
			r.Generation++
		}
		if r, err = marked(r, next); err == nil {
			r, err = swap(ctx, from, m.source.Nonce, r)
		}
		if !errors.Is(err, store.ErrLost) {
			m.source, m.was = r, next
			return err
		}
		if m.source, _, err = headOf(ctx, from, r.Key); err != nil {
			return err
		}
		if now, err := Of(m.source); err != nil || now != m.was {
			return errors.Join(err, fmt.Errorf("%s: %w", from.Name, store.ErrLost))
		}
	}
}

// reserve closes the target, so that no program makes the name there.
func (m *move) reserve(ctx context.Context, to store.Place, from string) error {
	r, err := marked(m.target, Moved{ID: m.was.ID, N: m.n, From: from, Identity: m.is})
	if err == nil {
		m.target, err = swap(ctx, to, m.target.Nonce, r)
	}
	return err
}

// adopted returns the head as the target gets it. Nothing was ever granted
// in its generation, which is the close's.
//
// Invariant: it has the identity with which the target began to wait. If
// another run of the move had opened the target, and it lost that, it is
// another store for each program.
func (m *move) adopted(ctx context.Context, from store.Place, adopt Adopt) (store.Record, error) {
	_, was, err := headOf(ctx, from, m.source.Key)
	if err != nil {
		return store.Record{}, err
	}
	r, err := marked(m.source, Moved{ID: m.was.ID, N: m.n})
	if err != nil {
		return store.Record{}, err
	}
	return adopt(ctx, r, was.Identity, m.is)
}

func headOf(ctx context.Context, p store.Place, head store.Key) (store.Record, store.Reply, error) {
	rs, reply, err := p.Get(ctx, []store.Key{head})
	if err != nil {
		return store.Record{}, reply, fmt.Errorf("reading %s: %w", p.Name, err)
	}
	return rs[0], reply, nil
}

// swap writes the head r over the one with the nonce old.
func swap(ctx context.Context, p store.Place, old string, r store.Record) (store.Record, error) {
	w := world.From(ctx)
	r.Nonce, r.Revision, r.At = w.Text(), r.Revision+1, w.Now().UnixMilli()
	if _, err := store.Put(ctx, p, store.Write{Old: old, New: r}); err != nil {
		return r, fmt.Errorf("writing %s: %w", p.Name, err)
	}
	return r, nil
}
