package sequence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/snowfence/snowfence/internal/move"
	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// A sequence is one record under a key that no namespace has. From is the
// first ordinal that was never given out, and Data has the rest.
//
// Each period of a dated sequence has a record of its own, without Data.
// Its node is the period, and From counts in it. Until is the highest From
// that a give-back lowered, and Label says whether Import raised it. Takes
// compare its generation, so it follows the definition's.
const recordNode = -2

// state is the content of a sequence's record.
type state struct {
	name    string
	record  store.Record // with the definition
	counter store.Record // whose From counts: the same one, or a period's
	stored
	course course
	told   store.Reply // by the store, with the record
}

// stored is what Data keeps. A field that is not known here is of a later
// version, and refused.
type stored struct {
	Definition
	Identity  string `json:"identity"`  // of the store when it was made or confirmed
	Confirmed int64  `json:"confirmed"` // grows with each confirmation, also over a rollback
	Deleted   bool   `json:"deleted,omitempty"`
	Reached   int64  `json:"reached,omitempty"` // highest From that a give-back lowered
	Largest   int64  `json:"largest,omitempty"` // highest MaxRange that a change lowered

	Moved move.Moved `json:"moved,omitzero"`

	// The last confirmation of a dated sequence closed the periods before
	// Open. Those from Open to Through begin at ordinal Floor.
	Open    int64 `json:"open,omitempty"`
	Floor   int64 `json:"floor,omitempty"`
	Through int64 `json:"through,omitempty"`
}

func read(ctx context.Context, st store.Store, name string) (state, error) {
	if err := checkName(name); err != nil {
		return state{}, err
	}
	rs, told, err := st.Get(ctx, []store.Key{keyOf(name)})
	if err != nil {
		return state{}, fmt.Errorf("sequence %q: reading it: %w", name, err)
	}
	s, err := decode(name, rs[0])
	s.told = told
	return s, err
}

// checkName refuses names that would be periods of dated sequences
// (day.20261122).
func checkName(name string) error {
	if err := store.CheckName(name); err != nil {
		return fmt.Errorf("sequence %.80q: a name has 1 to 63 letters, digits, '-', '_' and '.' (%w)", name,
			lease.ErrInvalid)
	}
	if len(name) > 63 {
		return fmt.Errorf("sequence %q: a name has 1 to 63 characters (%w)", name, lease.ErrInvalid)
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && strings.Trim(name[dot+1:], "0123456789") == "" {
		return fmt.Errorf("sequence %q: a name does not end in a dot and digits: such names are for dates: take "+
			"another one, as in %sc%s (%w)", name, name[:dot+1], name[dot+1:], lease.ErrInvalid)
	}
	return nil
}

func keyOf(name string) store.Key { return store.Key{Namespace: "#" + name, Node: recordNode} }

func decode(name string, r store.Record) (state, error) {
	s := state{name: name, record: r, counter: r}
	if r.Nonce == "" {
		return s, fmt.Errorf("sequence %q: %w in this store: create it", name, ErrNoSequence)
	}
	if moved, err := move.Of(r); err == nil && moved.Err() != nil {
		return s, fmt.Errorf("sequence %q: %w", name, moved.Err())
	}
	d := json.NewDecoder(strings.NewReader(r.Data))
	d.DisallowUnknownFields()
	err := d.Decode(&s.stored)
	if err == nil {
		s.Definition, s.course, err = s.withDefaults()
	}
	switch {
	case err == nil:
		return s, nil
	case json.Unmarshal([]byte(r.Data), &stored{}) == nil: // this program knows a part of it
		return s, fmt.Errorf("sequence %q: its record is of a later version: use a newer program: %w", name, err)
	}
	return s, fmt.Errorf("sequence %q: %w", name, store.Damaged(r.Key, err))
}

func readPeriod(ctx context.Context, st store.Store, name string, period int64) (store.Record, store.Reply, error) {
	key := periodKey(name, period)
	rs, told, err := st.Get(ctx, []store.Key{key})
	if err != nil {
		return store.Record{}, told, fmt.Errorf("sequence %q: reading period %d: %w", name, period, err)
	}
	rs[0].Key = key // also where there is none
	return rs[0], told, nil
}

func periodKey(name string, period int64) store.Key {
	return store.Key{Namespace: "#" + name, Node: period}
}

// liveError returns why the sequence gives no numbers, if it does not.
func (s state) liveError() error {
	if s.Deleted {
		return fmt.Errorf("sequence %q: %w: it was deleted: create it again, with the same definition, and it "+
			"goes on", s.name, ErrNoSequence)
	}
	return nil
}

func (s state) endError() error {
	cure := "raise max"
	if p, _ := parsePattern(s.Pattern); s.Pattern != "" && *s.Max == p.most { // decode parsed it without an error
		cure = "take numbers of another period"
	}
	return fmt.Errorf("sequence %q: %w%s up to max %d: %s, or use another sequence", s.name, ErrEnded, s.ofPeriod(),
		*s.Max, cure)
}

// ofPeriod names the period for errors.
func (s state) ofPeriod() string {
	if s.Pattern == "" {
		return ""
	}
	return fmt.Sprintf(" of period %d", s.counter.Node)
}

// lowestOrdinal returns the lowest ordinal that the period may give; 0 for
// a plain sequence.
func (s state) lowestOrdinal() int64 {
	if s.counter.Node > s.Through {
		return 0
	}
	return s.Floor
}

// update reads the sequence, lets change set the new state, and writes it,
// until no other process was faster. change reports whether there is
// anything to write. Only orNone lets it begin with no record.
func update(ctx context.Context, st store.Store, name string, orNone bool, change func(*state) (bool, error)) error {
	for {
		s, err := read(ctx, st, name)
		if err != nil && !(orNone && errors.Is(err, ErrNoSequence)) {
			return err
		}
		changed, err := change(&s)
		if err != nil || !changed {
			return err
		}
		if _, err = s.writeState(ctx, st); !errors.Is(err, store.ErrLost) {
			return err
		}
	}
}

// writeState stores the state, which is a [store.ErrLost] if it was written
// since it was read. Takes that are under way fail by the generation.
func (s state) writeState(ctx context.Context, st store.Store) (state, error) {
	w, old := world.From(ctx), s.record.Nonce
	s.record.Nonce = w.Text()
	if old == "" {
		s.Moved.ID = s.record.Nonce
	}
	s.record.Revision++
	s.record.Generation++
	s.record.At = w.Now().UnixMilli()
	s.record.Data = s.data()
	if _, err := store.Put(ctx, st, store.Write{Old: old, New: s.record}); err != nil {
		return s, fmt.Errorf("sequence %q: writing it: %w", s.name, err)
	}
	return s, nil
}

// data is the record's text of the state.
func (s state) data() string {
	text, _ := json.Marshal(s.stored) // numbers and texts, which always marshal
	return string(text)
}
