package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/snowfence/snowfence/lease/store"
)

// serverInfo is what a server says of itself in the statement that read or wrote: a pool or
// proxy may change servers at any time. Its row has the columns of a record, and the
// Namespace "", which no record has.
type serverInfo struct {
	id      string // who it is, with the tables: Holder
	system  string // what servers with copies of the data share: Nonce
	term    int64  // higher for later servers of the system: Revision; 0 if there is none
	refusal string // why it must not be used: Veto

	dataID   string // random ID of the data, a part of id: Label
	position int64  // grows with what is written, and never falls: Generation; 0 where nothing tells
	floor    int64  // what the position must not be below, by the witness beside a file
	unknown  bool   // the witness does not know the data
	reloaded bool   // a row that was read was not written by a swap
	idBack   bool   // the one with the identity was not
}

// errReloaded means that something other than a swap put rows back. The data now has
// another identity, and the result does not count.
var errReloaded = errors.New("the data was restored by another program, from a dump or by hand; " +
	"it now has another identity: try again")

// rolledBack reports whether data of the same identity lost something.
func (a serverInfo) rolledBack(before serverInfo) bool {
	return a.reloaded || a.refusal == "" && a.id == before.id && a.position < before.position
}

// Identity implements [store.Store]: all namespaces share one. It costs nothing, because
// each statement tells it. A database file that was deleted or replaced is a
// [store.ErrReplaced], here and in all other methods.
func (s *Store) Identity(ctx context.Context, _ string) (string, error) {
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	var err error
	switch {
	case id == "":
		_, err = s.Get(ctx, []store.Key{{Namespace: "-", Node: store.NamespaceNode}})
	case s.dialect.embedded:
		err = s.checkPinned(ctx)
	}
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id, nil
}

// nothing is a use for what comes with each.
func nothing(*sql.Conn) (serverInfo, error) { return serverInfo{}, nil }

// noteServer keeps what a server said in a use that began as the given one. After an error
// its result must not be used. mu is held.
func (s *Store) noteServer(info serverInfo, began int64) error {
	id := s.dialect.name + ":" + info.id
	switch {
	case info == serverInfo{}:
		return nil
	case info.refusal != "":
		return errors.New(info.refusal)
	case id == s.id:
		s.position = max(s.position, info.position)
		return nil
	case began < s.idSince:
		return fmt.Errorf("the server changed from %s to %s meanwhile: try again", id, s.id)
	case info.system == s.system && info.term < s.term:
		return fmt.Errorf("a server of timeline %d answers (%s), after one of timeline %d (%s): stop the old "+
			"one, or, if it was rolled back on purpose, restart this program", info.term, id, s.term, s.id)
	}
	s.id, s.idSince, s.dataID = id, s.uses+1, info.dataID
	s.system, s.term, s.position = info.system, info.term, info.position
	return nil
}

// These bound texts, in bytes: a database that cuts longer ones would keep another record.
const (
	longestName  = 64
	longestLabel = 255
	longestText  = 60_000
)

func checkLengths(writes []store.Write) error {
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

// lockOrder returns the indexes of the writes by key: locks in one order cannot deadlock.
func lockOrder(writes []store.Write) []int {
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
