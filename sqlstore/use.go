package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease/store"
)

// querier is a connection of the pool or a transaction of the caller.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// purpose is the reason of a use.
type purpose bool

const (
	toRead  purpose = false
	toWrite purpose = true
)

// action asks a database, and returns the server's own description.
type action func(ctx context.Context, c querier, v view) (serverInfo, error)

// view is the knowledge of a use before it asks the database.
type view struct {
	use      int64 // its number
	lastInfo serverInfo
	file     *file
	floor    int64 // what the witness knows of told.dataID, which told.position is not below
	known    bool  // whether it knows it at all
	pinned   *pinned

	sources       sources
	closedSources closed
}

// callTimeout bounds a call's wait for a connection, and its wait for the
// answer of a server. busyTimeout bounds the retries on a busy database,
// and the making of tables.
const (
	callTimeout = 5 * time.Second
	busyTimeout = 30 * time.Second
)

// ErrSlow means that a server answers, but did not carry out a statement in
// time.
var ErrSlow = errors.New("the server answers, but not this statement: another session locks snowfence_lease or " +
	"snowfence_meta (a migration, LOCK TABLE, a transaction that is left open), or the server is overloaded")

// errPool means that the pool gave no connection in time.
var errPool = errors.New("all connections of the pool are in use: end the transactions that hold them, or allow more " +
	"(SetMaxOpenConns)")

// use runs do on a connection of a ready database. A busy database did
// nothing, so do runs again; nothing is locked in between. So does a read
// over a dead connection, once.
func (s *Store) use(ctx context.Context, why purpose, do action) (store.Reply, error) {
	if s.tx != nil {
		reply, err := s.inTx(ctx, why, do)
		return reply, s.explainError(err)
	}
	start, w := time.Now(), world.Real()
	again, looked := why == toRead && !s.dialect.embedded, false
	for attempt := 0; ; attempt++ {
		reply, dropped, err := s.runOnce(ctx, s.callLimit(ctx, again), why, do)
		switch {
		case err == nil:
			s.findClosed(ctx, false) // not before, because a silent server would take the statement's time
			return reply, nil
		case s.dialect.errors.hasCode(err, s.dialect.errors.busy) && time.Since(start) <= busyTimeout:
			if w.Wait(time.Millisecond+rand.N(time.Millisecond<<min(attempt, 5)), ctx.Done()) == 0 {
				return reply, fmt.Errorf("%w: %w", s.explainError(err), ctx.Err())
			}
		case !looked && s.dialect.errors.hasCode(err, s.dialect.sources.codes) && s.findClosed(ctx, true):
			looked = true // the statement did nothing
		case dropped && again && ctx.Err() == nil:
			again = false
		default:
			return reply, s.explainError(err)
		}
	}
}

// callLimit returns how long a call may take. It leaves time to ask again,
// or to find out why there was no answer. SQLite waits for its locks by
// itself.
func (s *Store) callLimit(ctx context.Context, again bool) time.Duration {
	end, ok := ctx.Deadline()
	switch left := time.Until(end); {
	case s.dialect.embedded:
		return busyTimeout
	case !ok:
		return callTimeout
	case again:
		return min(callTimeout, left/2)
	default:
		return min(callTimeout, left*3/4)
	}
}

// runOnce runs do on a connection. A write compares the files first, so it
// goes to files that others see too. All uses compare them afterwards, even
// after an error. A connection to a server that failed is dropped: it may
// be dead, silent, read-only, or to a server that is no primary any more.
func (s *Store) runOnce(
	ctx context.Context, limit time.Duration, why purpose, do action,
) (reply store.Reply, dropped bool, err error) {
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, giveBack, err := s.connection(waiting)
	if err != nil {
		if n := s.db.Stats(); waiting.Err() != nil && n.MaxOpenConnections > 0 && n.InUse >= n.MaxOpenConnections {
			err = fmt.Errorf("%w: %w", errPool, err)
		}
		return reply, false, s.replacedElse(err)
	}
	defer func() {
		dropped = !s.dialect.embedded && err != nil && !errors.Is(err, errReloaded) &&
			!s.dialect.errors.hasCode(err, s.dialect.errors.busy)
		giveBack(dropped)
		if dropped && errors.Is(err, context.DeadlineExceeded) && s.serverAnswers(ctx) {
			err = fmt.Errorf("%w: %w", ErrSlow, err)
		}
	}()
	if s.dialect.name == "mysql" && s.cleaned.Swap(c) != c { // a program may have left a transaction open in it
		if _, err := c.ExecContext(waiting, "ROLLBACK"); err != nil {
			return reply, false, err
		}
	}
	long, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	if err := s.prepareTables(long, c); err != nil {
		return reply, false, err
	}
	used, err := s.sideFilesFor(long, c, why)
	if err != nil {
		return reply, false, err
	}
	v, err := s.view(why)
	if err != nil {
		return reply, false, err
	}
	asking, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	info, err := do(asking, c, v)
	open := err == nil || c.Raw(func(any) error { return nil }) == nil
	if err := s.checkAfterUse(used, open, err); err != nil {
		return reply, false, err
	}
	back, err := v.wentBack(&info)
	switch {
	case err == nil && back:
		err = cmp.Or(s.newIdentity(long, c, v.file, info.dataID), errReloaded)
	case err == nil && v.file != nil && info.dataID != "" && info.position > v.floor:
		err = v.file.noteCount(info.dataID, info.position)
	}
	if err != nil {
		return reply, false, err
	}
	if err := s.noteServer(info, v.use); err != nil {
		return reply, false, err
	}
	return s.reply(info, v), false, nil
}

// view begins a use. It reads the witness before anybody asks the database:
// the notes of the witness are committed.
func (s *Store) view(why purpose) (v view, err error) {
	s.mu.Lock()
	s.uses++
	v = view{
		use: s.uses, lastInfo: s.lastInfo, file: s.file, pinned: s.pinned, sources: s.dialect.sources,
		closedSources: s.closedSources,
	}
	s.mu.Unlock()
	if v.file != nil && why == toWrite {
		if err := v.file.writable(); err != nil {
			return v, err
		}
	}
	v.floor, v.known, err = v.file.highestNote(v.lastInfo.dataID)
	v.lastInfo.position = max(v.lastInfo.position, v.floor)
	return v, err
}

// inTx runs do in the transaction of the caller. The caller may roll it
// back, so inTx gives data no other identity, and notes nothing: the
// witness learns of its commits when a Store uses the file next.
func (s *Store) inTx(ctx context.Context, why purpose, do action) (reply store.Reply, _ error) {
	v, err := s.view(why)
	if err != nil {
		return reply, err
	}
	info, err := do(ctx, s.tx, v)
	if err != nil {
		return reply, err
	}
	if back, err := v.wentBack(&info); err != nil || back {
		return reply, cmp.Or(err, errPutBack)
	}
	return s.reply(info, v), s.noteServer(info, v.use)
}

// checkAfterUse returns the error of a use, or that other programs use
// other files by now.
func (s *Store) checkAfterUse(used files, open bool, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !open && s.pinned == nil {
		return err // the connection was given up, and SQLite may have removed its files for good reason
	}
	if changed := s.checkFiles(used); changed != nil {
		return changed
	}
	return err
}
