package insql

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/snowfence/snowfence/test/harness/fleet"
)

// notTheOne is what the functions say on another server, or after data was
// restored.
const notTheOne = "is not the one that made the IDs"

// pgAnotherServer makes the row of the state say what it would on another
// server, or after it was restored, and confirms it.
func pgAnotherServer(b base) {
	var l ledger
	l.add(b.next(3)...)
	s := fleet.Scheme(b, "snowfence")
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
		b.do("CREATE TABLE kept AS SELECT * FROM snowfence_state", change)
		b.none(notTheOne)
		if what == "no row" {
			b.do("INSERT INTO snowfence_state SELECT * FROM kept")
		}
		for _, wait := range []string{"-1 s", "2 days"} {
			b.fails("difference of two clocks", "SELECT snowfence_confirm('"+wait+"')")
		}
		// The old server's clock may have been two seconds ahead, and its
		// IDs three more.
		least := s.Layout().TickOf(time.Now().Add(5 * time.Second))
		b.do("DROP TABLE kept", "SELECT snowfence_confirm('2 s')")
		ids := b.next(1)
		if p, err := s.Decode(ids[0]); err != nil || p.Tick <= least-1 || p.Tick > least+60_000 {
			b.Fatalf("%s: confirmed, an ID has tick %d, want %d: %v", what, p.Tick, least, err)
		}
		l.add(ids...)
	}
	b.must(l.repeated())
}

// pgPrintedAgain runs the text again after the clock stepped back: the
// lanes stay where they are. A text for another node is refused.
func pgPrintedAgain(b base) {
	var l ledger
	b.crowd(&l, 4, 100)
	// The same lanes stay, for sessions that use them.
	b.do("UPDATE test_clock SET step = '-1 h'",
		"CREATE TABLE kept AS SELECT 'snowfence_lane_2_0'::regclass::oid AS lane")
	b.must(b.load(b.text))
	b.do("SELECT 1 / (SELECT count(*) FROM kept WHERE lane = 'snowfence_lane_2_0'::regclass)")
	b.crowd(&l, 4, 100)
	for old, other := range map[string]string{
		"had.node <> 5": "had.node <> 6", "had.layout <> 'time=41": "had.layout <> 'time=40",
	} {
		b.failing(b.load(strings.ReplaceAll(b.text, old, other)), "another --schema")
	}
}

var startOf = regexp.MustCompile(`start bigint := \d+;`)

// pgPrintedAnew prints the functions for a node that had another user: they
// begin above its ticks, also where old functions left their lanes.
func pgPrintedAnew(b base) {
	s := fleet.Scheme(b, "snowfence")
	b.next(8)
	start := s.Layout().TickOf(time.Now().Add(time.Hour))
	text := strings.Replace(b.text, "AND NOT false", "AND NOT true", 1)
	for i, lanes := range []int{2, 2, 4} {
		at := start - 500_000 // the second text begins lower
		if i != 1 {
			start += 1_000_000
			at = start
		}
		b.must(b.load(startOf.ReplaceAllString(pgRelaned(text, 2, lanes), fmt.Sprintf("start bigint := %d;", at))))
		for _, id := range b.next(8) {
			if p, err := s.Decode(id); err != nil || p.Tick < start {
				b.Fatalf("print %d: %+v, and the node is free from tick %d on: %v", i, p, start, err)
			}
		}
	}
}

// pgRights lets a stranger make IDs, and nothing else.
func pgRights(b base) {
	role := "stranger_" + b.name
	b.do("CREATE ROLE "+role, "GRANT INSERT, SELECT ON orders TO "+role, "CREATE SCHEMA "+role+" AUTHORIZATION "+role)
	// What has our names, or names of functions that ours use, comes first
	// on the path.
	hijack := "LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked as %', current_user; END $$"
	b.do("SET ROLE "+role, "SET search_path = "+role,
		"CREATE FUNCTION setval(regclass, bigint) RETURNS bigint "+hijack,
		"CREATE FUNCTION date_part(text, timestamptz) RETURNS double precision "+hijack,
		"CREATE FUNCTION plus(bigint, integer) RETURNS bigint "+hijack,
		"CREATE OPERATOR + (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = plus)")
	as := []string{
		"SET ROLE " + role, "CREATE TEMP SEQUENCE snowfence_lane_64_0",
		"CREATE TEMP TABLE snowfence_state AS SELECT 'x'::text AS identity, '1'::xid AS xid, 64 AS lanes",
		fmt.Sprintf("SET search_path = %s, pg_temp, public, pg_catalog", role),
	}
	b.next(2, as...)
	b.do(append(as, "INSERT INTO orders (item) VALUES (1)",
		"SELECT * FROM snowfence_decode(1), snowfence_from('2026-01-01'), snowfence_until(pg_catalog.now())")...)
	for _, denied := range []string{
		"SELECT pg_catalog.setval('public.snowfence_lane_64_0', 1)", "SELECT nextval('public.snowfence_lane_64_0')",
		"SELECT * FROM public.snowfence_state", "UPDATE public.snowfence_state SET lanes = 1",
		"SELECT snowfence_confirm('0 s')", "SELECT snowfence_accept()", "SELECT snowfence_check('x')",
		"SELECT snowfence_identity()", "ALTER SEQUENCE public.snowfence_lane_64_0 RESTART",
	} {
		b.fails("42501", as[0], denied)
	}
	b.do("REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC")
	b.fails("GRANT EXECUTE ON FUNCTION pg_control_system() TO "+role, as[0], b.text)
}

// pgSettings makes IDs and ranges under odd settings of a session.
func pgSettings(b base) {
	s := fleet.Scheme(b, "snowfence")
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
		ids := b.next(3, set...)
		l.add(ids...)
		p, err := s.Decode(ids[2])
		if err != nil || p.Tick < before || p.Tick > s.Layout().TickOf(time.Now())+1000 {
			b.Fatalf("%v: %+v: %v", set, p, err)
		}
		c := b.session(set...)
		c.ranges(s, p.Time)
		c.end()
	}
	// A crash after the commit would bring the IDs again.
	c := b.session("SET synchronous_commit = off", "BEGIN")
	defer c.end()
	var off, on string
	c.scan("SHOW synchronous_commit", &off)
	c.ids("SELECT snowfence_next()")
	c.scan("SHOW synchronous_commit", &on)
	if off != "off" || on != "on" {
		b.Fatalf("synchronous_commit is %s before an ID of a transaction, and %s after it", off, on)
	}
	b.none("25006", "SET default_transaction_read_only = on")
	b.must(l.repeated())
}

// pgNames uses functions in a schema whose name needs quotes, beside
// others.
func pgNames(b base) {
	var l ledger
	c := b.session()
	defer c.end()
	for range 2 {
		l.add(c.ids(`INSERT INTO orders (item) VALUES (1), (2) RETURNING id`)...)
	}
	c.do(`SELECT "It's ""a"" Schema".snowfence_confirm('0 s')`)
	b.must(l.repeated())
}
