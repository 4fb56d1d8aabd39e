package insql

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// pgText returns the text for a table orders with the key id.
func pgText(t testing.TB, args ...string) string {
	return program(t, append([]string{
		"sql", "--dialect", "postgres", "--node", fmt.Sprint(node), "--table", "orders.id",
	}, args...)...)
}

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

// A pgBase is a database of a server, with the functions of a text and the
// table orders.
type pgBase struct {
	p    *servers.Postgres
	name string
	text string
}

// newPGBase makes a database and runs a text there, with a clock that the
// test sets.
func newPGBase(t testing.TB, p *servers.Postgres, text string) (pgBase, error) {
	t.Helper()
	b := pgBase{p, p.NewDatabase(t), pgInstrumented(text)}
	p.SQL(t, b.name, pgWorld)
	return b, b.load(b.text)
}

// pgOpener makes databases on a server.
func pgOpener(p *servers.Postgres) opener[pgBase] {
	return func(t testing.TB, text string) (pgBase, error) { return newPGBase(t, p, text) }
}

// pgInstrumented puts the clock of a test into a text, a place to stall
// between the look at a lane and its move, and a longer wait for the table.
func pgInstrumented(text string) string {
	text = strings.Replace(text, "lock_timeout = '2s'", "lock_timeout = '60s'", 1)
	text = strings.ReplaceAll(text, "clock_timestamp()", "public.test_now()")
	const move = "  PERFORM setval(seq, pos);"
	return strings.Replace(text, move, "  PERFORM public.test_stall();\n"+move, 1)
}

// load runs a text with psql, as an operator does.
func (b pgBase) load(text string) error {
	cmd := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", strconv.Itoa(b.p.Port),
		"-U", "postgres", "-d", b.name)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("psql: %w: %s", err, out)
	}
	return err
}

// with runs what a client does on a new connection, after it ran
// statements.
func (b pgBase) with(client func(ctx context.Context, c *pgx.Conn) error, statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, b.p.URL(b.name))
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	if client == nil {
		return nil
	}
	return client(ctx, c)
}

// do runs statements on a new connection.
func (b pgBase) do(statements ...string) error { return b.with(nil, statements...) }

type pgQuerier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// pgIDs runs a query, and returns what it selects.
func pgIDs(ctx context.Context, c pgQuerier, query string, args ...any) ([]snowfence.ID, error) {
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	out := make([]snowfence.ID, len(ids))
	for i, id := range ids {
		out[i] = snowfence.ID(id)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	return out, nil
}

// next takes n IDs on a new connection, each in a transaction of its own.
func (b pgBase) next(n int, statements ...string) (out []snowfence.ID, err error) {
	err = b.with(func(ctx context.Context, c *pgx.Conn) error {
		for range n {
			got, err := pgIDs(ctx, c, "SELECT snowfence_next()")
			if err != nil {
				return err
			}
			out = append(out, got...)
		}
		return nil
	}, statements...)
	return out, err
}

// client makes n IDs on one connection: a third is selected, a third rolled
// back, a third inserted, many at a time and one by one.
func (b pgBase) client(l *ledger, n int) error {
	return b.with(func(ctx context.Context, c *pgx.Conn) error {
		for made, turn := 0, 0; made < n; turn++ {
			batch := 1 + turn%2*63
			var got []snowfence.ID
			var err error
			switch turn / 2 % 3 {
			case 0:
				got, err = pgIDs(ctx, c, fmt.Sprintf("SELECT snowfence_next() FROM generate_series(1, %d)", batch))
			case 1:
				var tx pgx.Tx
				if tx, err = c.Begin(ctx); err != nil {
					return err
				}
				got, err = pgIDs(ctx, tx, fmt.Sprintf("SELECT snowfence_next() FROM generate_series(1, %d)", batch))
				if err == nil {
					err = tx.Rollback(ctx)
				}
			default:
				got, err = pgIDs(ctx, c, fmt.Sprintf(
					"INSERT INTO orders (item) SELECT i FROM generate_series(1, %d) i RETURNING id", batch))
			}
			l.add(got...)
			made += len(got)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// crowd runs clients at once.
func (b pgBase) crowd(l *ledger, clients, each int) error {
	return crowd(l, clients, func() error { return b.client(l, each) })
}
