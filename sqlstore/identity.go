package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence/lease"
)

// answer is what a server says about itself, within the statement or transaction that
// read or wrote something, so that it is the word of the very server that did so: pools
// and proxies change servers at any time. Its row has the columns of a record; Namespace
// is "", which no record has.
type answer struct {
	id      string // who it is, with the tables: Holder
	system  string // what servers with copies of the same data have in common: Nonce
	term    int64  // number of the server among these, higher for later ones: Revision; 0 where they have none
	refusal string // why it must not be used: Veto

	own      string // random ID of the data, a part of id: Label
	position int64  // grows with what is written, and never falls: Generation; 0 where nothing tells
	floor    int64  // what the position must not be below, by the witness beside a file
	unknown  bool   // the witness does not know the data
	back     bool   // a row that was read was not written by a swap
}

// errBack means that rows were put back by something else than a swap. The data has
// another identity from now on, and what was read or written does not count.
var errBack = errors.New("the data was put back by something else than this program, from a dump or by hand, " +
	"and has another identity from now on: try again")

// wentBack reports whether what answered has lost something, with an identity that it had before.
func (a answer) wentBack(before answer) bool {
	return a.back || a.refusal == "" && a.id == before.id && a.position < before.position
}

// Identity implements [lease.Store]: all namespaces have the same. A server's is what the
// last statement was told, at no cost: who a server is, and the random ID of its tables.
// A file that is no longer at its path, or not the same one, is a [lease.ErrReplaced],
// here and in all other methods.
func (s *Store) Identity(ctx context.Context, _ string) (string, error) {
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	var err error
	switch {
	case id == "":
		_, err = s.Get(ctx, []lease.Key{{Namespace: "-", Node: lease.NamespaceNode}}) // hears who answers
	case s.dialect.embedded:
		err = s.compared(ctx)
	}
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id, nil
}

// nothing is a use for what comes with each.
func nothing(*sql.Conn) (answer, error) { return answer{}, nil }

// hear takes note of what a server said in a use that began as the given one. An error
// means that what was read or written must not be used. mu is held.
func (s *Store) hear(word answer, began int64) error {
	id := s.dialect.name + ":" + word.id
	switch {
	case word == answer{}:
		return nil
	case word.refusal != "":
		return errors.New(word.refusal)
	case id == s.id:
		s.position = max(s.position, word.position)
		return nil
	case began < s.since:
		return fmt.Errorf("the server changed from %s to %s meanwhile: try again", id, s.id)
	case word.system == s.system && word.term < s.term:
		return fmt.Errorf("a server of timeline %d answers (%s), after one of timeline %d (%s): stop the old "+
			"one, or, if it was rolled back on purpose, restart this program", word.term, id, s.term, s.id)
	}
	s.id, s.own, s.system, s.term, s.since, s.position = id, word.own, word.system, word.term, s.uses+1, word.position
	return nil
}

// longest are the lengths, in bytes, up to which texts are kept. A database that cuts
// longer ones off without an error would keep another record than was written.
const (
	longestName  = 64
	longestLabel = 255
	longestText  = 60_000
)

func fits(writes []lease.Write) error {
	for _, w := range writes {
		r := w.New
		if max(len(r.Namespace), len(r.Nonce), len(r.Holder)) > longestName || len(r.Label) > longestLabel ||
			max(len(r.Veto), len(r.Data)) > longestText {
			return fmt.Errorf("sqlstore: node %d of namespace %.80q: a text of the record is too long: names "+
				"and nonces may have %d bytes, labels %d, all else %d",
				r.Node, r.Namespace, longestName, longestLabel, longestText)
		}
	}
	return nil
}

// ordered returns the indexes of the writes in the order of their keys: who locks rows in
// one order cannot wait for each other in a ring.
func ordered(writes []lease.Write) []int {
	order := make([]int, len(writes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := writes[a].New, writes[b].New
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Node, y.Node))
	})
	return order
}
