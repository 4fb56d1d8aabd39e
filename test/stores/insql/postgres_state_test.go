package insql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// pgAnotherServer makes the row of the state say what it would on another
// server, or after it was restored, and confirms it.
func pgAnotherServer(b pgBase) error {
	var l ledger
	ids, err := b.next(3)
	if err != nil {
		return err
	}
	l.add(ids...)
	for what, change := range map[string]string{
		"a row that was restored": "UPDATE snowfence_state SET node = node",
		"another server": `DO $$ DECLARE x xid; BEGIN
			UPDATE snowfence_state SET identity = regexp_replace(identity, '^\d+', '7') RETURNING xmin INTO x;
			UPDATE snowfence_state SET xid = x; END $$`,
		"another timeline": `DO $$ DECLARE x xid; BEGIN
			UPDATE snowfence_state SET identity = replace(identity, '.00000001.', '.00000002.') RETURNING xmin INTO x;
			UPDATE snowfence_state SET xid = x; END $$`,
		"no row": "DELETE FROM snowfence_state",
	} {
		kept := "CREATE TABLE kept AS SELECT * FROM snowfence_state"
		if err := b.do(kept, change); err != nil {
			return err
		}
		if ids, err := b.next(1); err == nil || !strings.Contains(err.Error(), "is not the one that made the IDs") {
			return fmt.Errorf("%s: %v, %w", what, ids, err)
		}
		if what == "no row" {
			if err := b.do("INSERT INTO snowfence_state SELECT * FROM kept"); err != nil {
				return err
			}
		}
		for _, wait := range []string{"-1 s", "2 days"} {
			if b.do("SELECT snowfence_confirm('"+wait+"')") == nil {
				return fmt.Errorf("confirmed with %s", wait)
			}
		}
		// The old server's clock may have been two seconds ahead, and its
		// IDs three more.
		s, err := schemeOf("snowfence")
		if err != nil {
			return err
		}
		least := s.Layout().TickOf(time.Now().Add(5 * time.Second))
		if err := b.do("DROP TABLE kept", "SELECT snowfence_confirm('2 s')"); err != nil {
			return err
		}
		ids, err := b.next(1)
		if err != nil {
			return err
		}
		if p, err := s.Decode(ids[0]); err != nil || p.Tick <= least-1 || p.Tick > least+60_000 {
			return fmt.Errorf("%s: confirmed, an ID has tick %d, want %d: %w", what, p.Tick, least, err)
		}
		l.add(ids...)
	}
	return l.repeated()
}

// pgPrintedAgain runs the text again after the clock stepped back: the
// lanes stay where they are. A text for another node is refused.
func pgPrintedAgain(b pgBase) error {
	var l ledger
	if err := b.crowd(&l, 4, 100); err != nil {
		return err
	}
	// The same lanes stay, for sessions that use them.
	kept := "CREATE TABLE kept AS SELECT 'snowfence_lane_2_0'::regclass::oid AS lane"
	if err := b.do("UPDATE test_clock SET step = '-1 h'", kept); err != nil {
		return err
	}
	if err := b.load(b.text); err != nil {
		return err
	}
	if err := b.do("SELECT 1 / (SELECT count(*) FROM kept WHERE lane = 'snowfence_lane_2_0'::regclass)"); err != nil {
		return fmt.Errorf("other lanes: %w", err)
	}
	if err := b.crowd(&l, 4, 100); err != nil {
		return err
	}
	other := strings.ReplaceAll(b.text, "had.node <> 5", "had.node <> 6")
	if err := b.load(other); err == nil || !strings.Contains(err.Error(), "another --schema") {
		return fmt.Errorf("another node: %w", err)
	}
	other = strings.ReplaceAll(b.text, "had.layout <> 'time=41", "had.layout <> 'time=40")
	if err := b.load(other); err == nil || !strings.Contains(err.Error(), "another --schema") {
		return fmt.Errorf("another layout: %w", err)
	}
	return nil
}

// pgRights lets a stranger make IDs, and nothing else.
func pgRights(b pgBase) error {
	role := "stranger_" + b.name
	err := b.do("CREATE ROLE "+role, "GRANT INSERT, SELECT ON orders TO "+role,
		"CREATE SCHEMA "+role+" AUTHORIZATION "+role)
	if err != nil {
		return err
	}
	// What has our names, or names of functions that ours use, comes first
	// on the path.
	hijack := "LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked as %', current_user; END $$"
	if err := b.do("SET ROLE "+role, "SET search_path = "+role,
		"CREATE FUNCTION setval(regclass, bigint) RETURNS bigint "+hijack,
		"CREATE FUNCTION date_part(text, timestamptz) RETURNS double precision "+hijack,
		"CREATE FUNCTION plus(bigint, integer) RETURNS bigint "+hijack,
		"CREATE OPERATOR + (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = plus)"); err != nil {
		return err
	}
	as := []string{
		"SET ROLE " + role, "CREATE TEMP SEQUENCE snowfence_lane_64_0",
		"CREATE TEMP TABLE snowfence_state AS SELECT 'x'::text AS identity, '1'::xid AS xid, 64 AS lanes",
		fmt.Sprintf("SET search_path = %s, pg_temp, public, pg_catalog", role),
	}
	if _, err := b.next(2, as...); err != nil {
		return err
	}
	if err := b.do(append(as, "INSERT INTO orders (item) VALUES (1)",
		"SELECT * FROM snowfence_decode(1), snowfence_from('2026-01-01'), snowfence_until(pg_catalog.now())")...); err != nil {
		return err
	}
	for _, denied := range []string{
		"SELECT pg_catalog.setval('public.snowfence_lane_64_0', 1)", "SELECT nextval('public.snowfence_lane_64_0')",
		"SELECT * FROM public.snowfence_state", "UPDATE public.snowfence_state SET lanes = 1",
		"SELECT snowfence_confirm('0 s')", "SELECT snowfence_accept()", "SELECT snowfence_check('x')",
		"SELECT snowfence_identity()", "ALTER SEQUENCE public.snowfence_lane_64_0 RESTART",
	} {
		if err := b.do(as[0], denied); err == nil || !strings.Contains(err.Error(), "42501") {
			return fmt.Errorf("%s: %w", denied, err)
		}
	}
	return nil
}

// pgSettings makes IDs and ranges under odd settings of a session.
func pgSettings(b pgBase) error {
	s, err := schemeOf("snowfence")
	if err != nil {
		return err
	}
	var l ledger
	for _, set := range [][]string{
		{"SET TimeZone = 'Pacific/Chatham'", "SET DateStyle = 'Postgres, DMY'", "SET IntervalStyle = 'sql_standard'"},
		{"SET standard_conforming_strings = off", "SET extra_float_digits = -15", "SET lc_numeric = 'C'"},
		{"SET search_path = ''", "SET search_path = public"},
		{"SET force_parallel_mode = on"},
		{"SET default_transaction_isolation = 'serializable'"},
		{"SET synchronous_commit = off"},
		{"SET jit_above_cost = 0"},
	} {
		before := s.Layout().TickOf(time.Now().Add(-5 * time.Minute))
		ids, err := b.next(3, set...)
		if err != nil {
			return err
		}
		l.add(ids...)
		p, err := s.Decode(ids[2])
		if err != nil || p.Tick < before || p.Tick > s.Layout().TickOf(time.Now())+1000 {
			return fmt.Errorf("%v: %+v: %w", set, p, err)
		}
		lo, hi, err := s.Range(p.Time, p.Time.Add(time.Hour))
		if err != nil {
			return err
		}
		err = b.with(func(ctx context.Context, c *pgx.Conn) error {
			var got [2]int64
			err := c.QueryRow(ctx, "SELECT snowfence_from($1), snowfence_until($2)", p.Time, p.Time.Add(time.Hour)).
				Scan(&got[0], &got[1])
			if err == nil && got != [2]int64{int64(lo), int64(hi)} {
				err = fmt.Errorf("%v: range %v, want %d to %d", set, got, lo, hi)
			}
			return err
		}, set...)
		if err != nil {
			return err
		}
	}
	// A crash after the commit would bring the IDs again.
	err = b.with(func(ctx context.Context, c *pgx.Conn) error {
		tx, err := c.Begin(ctx)
		if err != nil {
			return err
		}
		var off, on string
		err = errors.Join(tx.QueryRow(ctx, "SHOW synchronous_commit").Scan(&off),
			tx.QueryRow(ctx, "SELECT snowfence_next()").Scan(new(int64)),
			tx.QueryRow(ctx, "SHOW synchronous_commit").Scan(&on), tx.Commit(ctx))
		if err == nil && (off != "off" || on != "on") {
			err = fmt.Errorf("synchronous_commit is %s before an ID of a transaction, and %s after it", off, on)
		}
		return err
	}, "SET synchronous_commit = off")
	if err != nil {
		return err
	}
	if err := b.do("SET default_transaction_read_only = on", "SELECT snowfence_next()"); err == nil {
		return errors.New("a read-only transaction made an ID")
	}
	return l.repeated()
}

// pgNames uses functions in a schema whose name needs quotes, beside
// others.
func pgNames(b pgBase) error {
	return b.with(func(ctx context.Context, c *pgx.Conn) error {
		var l ledger
		for range 2 {
			ids, err := pgIDs(ctx, c, `INSERT INTO orders (item) VALUES (1), (2) RETURNING id`)
			if err != nil {
				return err
			}
			l.add(ids...)
		}
		_, err := c.Exec(ctx, `SELECT "It's ""a"" Schema".snowfence_confirm('0 s')`)
		return errors.Join(err, l.repeated())
	})
}
