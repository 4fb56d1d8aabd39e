package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// serverInfo is a server's own description in the statement that read or
// wrote: a pool or proxy may change servers at any time. Its row has the
// columns of a record, and the Namespace "", which no record has.
type serverInfo struct {
	id      string // who it is, with the tables: Holder
	system  string // what servers with copies of the data share: Nonce
	term    int64  // higher for later servers of the system: Revision; 0 if there is none
	refusal string // why it must not be used: Veto

	dataID   string // random ID of the data, a part of id: Label
	mark     int64  // of the server, in MySQL: From
	now      int64  // its time in microseconds: At; 0 if it has no clock
	position int64  // grows with what is written, and never falls: Generation; 0 where nothing tells
	reloaded bool   // a row that was read was not written by a swap
	idBack   bool   // the one with the identity was not
}

// errReloaded means that something other than a swap put rows back. The
// data now has another identity, and the result does not count.
var errReloaded = errors.New("the data was restored by another program, from a dump or by hand; " +
	"it now has another identity: try again")

// reply returns what a use tells of the server. A statement of SQLite that
// tells nothing was for the data of the view: it compares that.
func (s *Store) reply(info serverInfo, v view) store.Reply {
	if info == (serverInfo{}) {
		info = v.lastInfo
	}
	r := store.Reply{Identity: s.dialect.name + ":" + info.id}
	if info.now != 0 {
		r.Now = time.UnixMicro(info.now)
	}
	return r
}

// ask returns the server's reply to a small question.
func (s *Store) ask(ctx context.Context) (store.Reply, error) {
	_, reply, err := s.Get(ctx, []store.Key{{Namespace: "-", Node: store.NamespaceNode}})
	return reply, err
}

// Suspect implements [store.Store].
func (s *Store) Suspect(ctx context.Context, identity string) error {
	if reply, err := s.ask(ctx); err != nil || reply.Identity != identity {
		return err
	}
	_, err := s.use(ctx, toWrite, func(ctx context.Context, c querier, v view) (info serverInfo, err error) {
		own, ok := c.(*sql.Conn)
		if !ok {
			return info, errPutBack // a caller's transaction may be rolled back
		}
		if err := s.newIdentity(ctx, own, v.file, identity); err != nil {
			return info, err
		}
		_, info, err = records(c.QueryContext(ctx, v.open(s.dialect.probe)))
		return info, err
	})
	return err
}

// wentBack completes a server's description, and reports whether data of
// the known identity has lost something.
func (v view) wentBack(info *serverInfo) (bool, error) {
	if v.file != nil && info.dataID != "" {
		info.id = info.dataID + v.file.number
		if info.dataID != v.lastInfo.dataID || !v.known {
			_, known, err := v.file.highestNote(info.dataID)
			if err != nil {
				return false, err
			}
			info.reloaded = info.reloaded || !known
		}
	}
	return info.reloaded || info.refusal == "" && info.id == v.lastInfo.id && info.position < v.lastInfo.position, nil
}

// noteServer keeps a server's description in a use that began as the given
// one. After an error its result must not be used.
func (s *Store) noteServer(info serverInfo, began int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case info == serverInfo{}:
		return nil
	case info.refusal != "":
		return errors.New(info.refusal)
	case s.lastInfo.mark != 0 && info.mark != s.lastInfo.mark && time.Since(s.answeredAt) < callTimeout:
		return errDivided // both answer
	case info.id == s.lastInfo.id:
		s.answeredAt = time.Now()
		s.lastInfo.position = max(s.lastInfo.position, info.position)
		return nil
	case began < s.toldSince:
		return fmt.Errorf("the server changed from %s to %s meanwhile: try again", info.id, s.lastInfo.id)
	case info.system == s.lastInfo.system && info.term > 0 && info.term < s.lastInfo.term:
		return fmt.Errorf("server %s of timeline %d answers, after server %s of timeline %d: stop the server of "+
			"timeline %[2]d, or, if you rolled it back on purpose, restart this program", info.id, info.term,
			s.lastInfo.id, s.lastInfo.term)
	}
	s.lastInfo, s.toldSince, s.answeredAt = info, s.uses+1, time.Now()
	return nil
}

// newIdentity gives the data another identity if rows were put back or are
// gone, or if the suspect identity has its ID. It is one transaction, so
// everybody notices once.
func (s *Store) newIdentity(ctx context.Context, c *sql.Conn, f *file, suspect string) error {
	if back, err := s.putBack(ctx, c, f); err != nil || !back && suspect == "" {
		return err
	}
	err := s.dialect.exclusive(ctx, c, func() error {
		if s.dialect.lock != "" {
			if _, err := c.ExecContext(ctx, s.dialect.lock); err != nil {
				return err
			}
		}
		id, err := s.readMeta(ctx, c, "id")
		if err != nil {
			return err
		}
		back, err := s.putBack(ctx, c, f)
		if err != nil || !back && (id == "" || !strings.Contains(suspect, id)) {
			return err // another process did it
		}
		return s.dialect.renewIdentity(ctx, c, f)
	})
	if err != nil && !s.dialect.errors.hasCode(err, s.dialect.errors.busy) {
		err = fmt.Errorf("giving restored data another identity: %w", err)
	}
	return err
}

// putBack reports whether rows were put back or are gone, as far as the
// database shows it.
func (s *Store) putBack(ctx context.Context, c querier, f *file) (back bool, err error) {
	if s.dialect.changeColumn == "" || f != nil && f.blind {
		return false, nil // nothing shows it, or these connections never write
	}
	var info serverInfo
	if err := c.QueryRowContext(ctx, s.dialect.changeColumn).Scan(&back, &info.dataID, &info.position); err != nil {
		return false, err
	}
	floor, known, err := f.highestNote(info.dataID)
	return back || !known || info.position < floor, err
}

// renewIdentity gives the data another identity. It writes the witness
// before the commit: a program that sees the new identity finds it there.
func (d Dialect) renewIdentity(ctx context.Context, c querier, f *file) error {
	id := rand.Text() // has no quotes
	for _, step := range d.renewals {
		if _, err := c.ExecContext(ctx, strings.ReplaceAll(step, "?", "'"+id+"'")); err != nil {
			return err
		}
	}
	if f == nil {
		return nil
	}
	_, info, err := records(c.QueryContext(ctx, d.probe))
	if err == nil {
		err = f.beginWitness(id, info.position)
	}
	return err
}
