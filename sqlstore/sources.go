package sqlstore

import (
	"context"
	"strings"
	"time"
)

// closed are the sources of an identity that a server does not let this
// user ask, as managed databases do.
type closed int

const (
	noSystem closed = 1 << iota // the number of the cluster
	noLog                       // the timeline and the position of the log
)

// closedToTx is for a transaction, which ends at the first closed function.
const closedToTx = "numbers in a transaction need pg_control_system, pg_current_wal_insert_lsn, " +
	"pg_current_wal_flush_lsn and pg_walfile_name: GRANT EXECUTE ON FUNCTION pg_control_system() TO this user, " +
	"and so on; where the server keeps them closed, take numbers outside of the transaction (sequence.Open), " +
	"which can leave gaps"

// source is something that an identity is made of.
type source struct {
	bit         closed
	name        string   // for people
	ask         []string // expressions of a statement
	substitutes []string // what stands for them where the source is closed
	loss        string   // what goes unnoticed then
}

// sources of a dialect, with a SELECT of the rights to ask them.
type sources struct {
	all    []source
	rights string
	codes  []string // of errors that may mean that one is closed
}

// open returns a statement without the closed functions.
func (v view) open(query string) string {
	for _, src := range v.sources.all {
		for i, ask := range src.ask {
			if v.closedSources&src.bit != 0 {
				query = strings.ReplaceAll(query, ask, src.substitutes[i])
			}
		}
	}
	return query
}

// findClosed asks each source, and reports whether others are closed than
// was known. It does so after an error, and when the rights have changed,
// which it compares every few seconds, after an answer.
func (s *Store) findClosed(ctx context.Context, failed bool) (news bool) {
	s.mu.Lock()
	before, at := s.closedSources, s.closedAt
	s.mu.Unlock()
	src := s.dialect.sources
	if s.tx != nil || !failed && (before == 0 || time.Since(at) < callTimeout) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c, giveBack, err := s.connection(ctx)
	if err != nil {
		return false
	}
	silent := false
	defer func() { giveBack(silent) }()
	var rights string
	if err := c.QueryRowContext(ctx, src.rights).Scan(&rights); err != nil {
		rights = ""
	}
	s.mu.Lock()
	same := rights == s.rights
	s.closedAt = time.Now()
	s.mu.Unlock()
	if !failed && same {
		return false
	}
	now := closed(0)
	for _, one := range src.all {
		for _, ask := range one.ask {
			var value any
			err := c.QueryRowContext(ctx, "SELECT "+ask).Scan(&value)
			if silent = err != nil && !s.dialect.errors.hasCode(err, src.codes); silent {
				return false // no answer, or only for now
			}
			if err != nil {
				now |= one.bit
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	news, s.closedSources, s.rights = now != s.closedSources, now, rights
	return news
}
