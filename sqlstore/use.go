package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence/internal/world"
)

// querier is a connection of the pool or a transaction of the caller.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// purpose is what a use is for.
type purpose bool

const (
	toRead  purpose = false
	toWrite purpose = true
)

// view is what a use knows of the database before it asks.
type view struct {
	use    int64 // its number
	told   serverInfo
	file   *file
	floor  int64 // what the witness knows of told.dataID, which told.position is not below
	known  bool  // whether it knows it at all
	pinned *pinned
}

// busyTimeout bounds how long a busy database is asked again.
const busyTimeout = 30 * time.Second

// use runs do on a connection of a database that is ready. A busy database did nothing, so
// do runs again; nothing is locked in between.
func (s *Store) use(ctx context.Context, why purpose, do func(querier, view) (serverInfo, error)) error {
	if s.tx != nil {
		return s.failed(s.inTx(ctx, why, do))
	}
	start, w := time.Now(), world.Real()
	for attempt := 0; ; attempt++ {
		err := s.once(ctx, why, do)
		if !s.dialect.errors.is(err, s.dialect.errors.busy) || time.Since(start) > busyTimeout {
			return s.failed(err)
		}
		if w.Wait(time.Millisecond+rand.N(time.Millisecond<<min(attempt, 5)), ctx.Done()) == 0 {
			return fmt.Errorf("%w: %w", s.failed(err), ctx.Err())
		}
	}
}

// once runs do on a connection. A write compares the files first, so it goes to files that
// others see too. All uses compare them afterwards, even after an error.
func (s *Store) once(ctx context.Context, why purpose, do func(querier, view) (serverInfo, error)) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := s.prepare(ctx, c); err != nil {
		return err
	}
	used, err := s.sideFilesFor(ctx, c, why)
	if err != nil {
		return err
	}
	v, err := s.view(why)
	if err != nil {
		return err
	}
	info, err := do(c, v)
	open := err == nil || c.Raw(func(any) error { return nil }) == nil
	if err := s.checkAfterUse(used, open, err); err != nil {
		return err
	}
	back, err := v.wentBack(&info)
	switch {
	case err == nil && back:
		err = cmp.Or(s.newIdentity(ctx, c, v.file, info.dataID), errReloaded)
	case err == nil && v.file != nil && info.dataID != "" && info.position > v.floor:
		err = v.file.note(info.dataID, info.position)
	}
	if err != nil {
		return err
	}
	return s.noteServer(info, v.use)
}

// view begins a use. It reads the witness before the database is asked: what was noted is
// committed.
func (s *Store) view(why purpose) (v view, err error) {
	s.mu.Lock()
	s.uses++
	v = view{use: s.uses, told: s.told, file: s.file, pinned: s.pinned}
	s.mu.Unlock()
	if v.file != nil && why == toWrite {
		if err := v.file.writable(); err != nil {
			return v, err
		}
	}
	v.floor, v.known, err = v.file.floor(v.told.dataID)
	v.told.position = max(v.told.position, v.floor)
	return v, err
}

// inTx runs do in the transaction of the caller, which may be rolled back: so it is not the place
// to give data another identity, and nothing is noted.
func (s *Store) inTx(ctx context.Context, why purpose, do func(querier, view) (serverInfo, error)) error {
	v, err := s.view(why)
	if err != nil {
		return err
	}
	info, err := do(s.tx, v)
	if err != nil {
		return err
	}
	if back, err := v.wentBack(&info); err != nil || back {
		return cmp.Or(err, errPutBack)
	}
	return s.noteServer(info, v.use)
}

// checkAfterUse returns the error of a use, or that other programs use other files by now.
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
