package insql

import (
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// pgText prints the text for PostgreSQL.
var pgText = textOf("postgres")

// pgWorld is the clock that the functions see, and where a session can be
// made to stall.
const pgWorld = `
CREATE TABLE orders (id bigint PRIMARY KEY, item int);
CREATE TABLE test_clock (step interval, at timestamptz);
INSERT INTO test_clock VALUES ('0', NULL);
GRANT SELECT ON test_clock TO PUBLIC;
CREATE FUNCTION test_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
  $$ SELECT coalesce(at, pg_catalog.clock_timestamp() + step) FROM public.test_clock $$;
CREATE FUNCTION test_stall() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  IF current_setting('test.stall', true) = 'on' THEN PERFORM pg_advisory_xact_lock(-1, -1); END IF;
END $$;`

// pgBase is a database of a server, where nothing was run.
func pgBase(t testing.TB, p *servers.Postgres, name, text string) base {
	t.Helper()
	b := base{TB: t, postgres: p, name: name, text: text}
	b.connect("pgx", p.URL(name))
	return b
}

// newPGBase makes a database, and runs a text there as it is.
func newPGBase(t testing.TB, p *servers.Postgres, text string) base {
	t.Helper()
	b := pgBase(t, p, p.NewDatabase(t), text)
	b.must(b.load(pgWorld), b.load(text))
	return b
}

// pgOpener makes databases on a server, with a clock that the test sets.
func pgOpener(p *servers.Postgres) opener {
	return func(t testing.TB, text string) base { return newPGBase(t, p, pgInstrumented(text)) }
}

// pgInstrumented puts the clock of a test into a text, a place to stall
// between the look at a lane and its move, and a longer wait for the table.
func pgInstrumented(text string) string {
	text = strings.Replace(text, "lock_timeout = '2s'", "lock_timeout = '60s'", 1)
	text = strings.ReplaceAll(text, "clock_timestamp()", "public.test_now()")
	const move = "  PERFORM setval(seq, pos);"
	return strings.Replace(text, move, "  PERFORM public.test_stall();\n"+move, 1)
}

// TestPostgreSQL runs the text on a server.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "max_connections=300", "max_prepared_transactions=5", "wal_writer_delay=10s",
		"autovacuum=off", "fsync=off") // a kill of processes loses nothing of what was written
	t.Run("crowd", func(t *testing.T) { insqlCrowd(newPGBase(t, p, pgText(t))) })
	kept(t, pgProbes, pgText, pgOpener(p))
	t.Run("200 connections", func(t *testing.T) { pgOpener(p)(t, pgText(t)).crowd(&ledger{}, 200, 66) })
	t.Run("narrow column", func(t *testing.T) { pgColumns(t, p) })
	t.Run("dump", func(t *testing.T) { pgDump(t, p) })
	t.Run("killed", func(t *testing.T) { pgKilled(t, p) })
}

// pgColumns: a column that is narrower than an ID is refused before
// anything is made.
func pgColumns(t *testing.T, p *servers.Postgres) {
	for _, kind := range []string{"int", "smallint", "double precision", "narrow", "numeric(18)", "varchar(18)"} {
		b := pgBase(t, p, p.NewDatabase(t), pgText(t))
		b.do("CREATE DOMAIN narrow AS int")
		b.do("CREATE TABLE orders (id " + kind + " PRIMARY KEY, item int)")
		b.failing(b.load(b.text), "first ALTER TABLE orders ALTER COLUMN id TYPE bigint USING id::bigint")
		if n := p.SQL(t, b.name, "SELECT count(*) FROM pg_proc WHERE proname LIKE 'snowfence%'"); n != "0" {
			t.Errorf("%s: %s functions", kind, n)
		}
		b.do("ALTER TABLE orders ALTER COLUMN id TYPE bigint USING id::bigint")
		b.must(b.load(b.text))
		b.do("INSERT INTO orders (item) VALUES (1)")
	}
}
