package insql

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestPostgreSQL runs the text on a server.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	p := servers.StartPostgres(t, "max_connections=300", "max_prepared_transactions=5", "wal_writer_delay=10s",
		"autovacuum=off", "fsync=off") // a kill of processes loses nothing of what was written
	t.Run("crowd", func(t *testing.T) { pgCrowd(t, p) })
	kept(t, pgProbes, pgText, pgOpener(p))
	t.Run("200 connections", func(t *testing.T) {
		b, err := newPGBase(t, p, pgText(t))
		if err == nil {
			err = b.crowd(&ledger{}, 200, 66)
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("narrow column", func(t *testing.T) { pgColumns(t, p) })
	t.Run("dump", func(t *testing.T) { pgDump(t, p) })
	t.Run("killed", func(t *testing.T) { pgKilled(t, p) })
}

// pgColumns: a column that is narrower than an ID is refused before
// anything is made.
func pgColumns(t *testing.T, p *servers.Postgres) {
	for _, kind := range []string{"int", "smallint", "double precision", "real"} {
		b := pgBase{p, p.NewDatabase(t), pgText(t)}
		p.SQL(t, b.name, "CREATE TABLE orders (id "+kind+" PRIMARY KEY, item int)")
		if err := b.load(b.text); err == nil || !strings.Contains(err.Error(), "first ALTER COLUMN … TYPE bigint") {
			t.Errorf("%s: %v", kind, err)
		}
		if n := p.SQL(t, b.name, "SELECT count(*) FROM pg_proc WHERE proname LIKE 'snowfence%'"); n != "0" {
			t.Errorf("%s: %s functions", kind, n)
		}
		p.SQL(t, b.name, "ALTER TABLE orders ALTER COLUMN id TYPE bigint")
		if err := b.load(b.text); err != nil {
			t.Error(err)
		}
		p.SQL(t, b.name, "INSERT INTO orders (item) VALUES (1)")
	}
}

// pgCrowd makes IDs on sixteen connections beside a Go program on other
// nodes, and audits all that a client saw. SQL decodes as Go does.
func pgCrowd(t *testing.T, p *servers.Postgres) {
	total := 4_000
	if *long {
		total = 1_000_000
	}
	b := pgBase{p, p.NewDatabase(t), pgText(t)}
	p.SQL(t, b.name, "CREATE TABLE orders (id bigint PRIMARY KEY, item int)")
	if err := b.load(b.text); err != nil {
		t.Fatal(err)
	}
	var l ledger
	s, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		t.Fatal(err)
	}
	var beside sync.WaitGroup
	for n := range int64(2) {
		beside.Go(func() {
			if err := generate(&l, node+1+n, total/8); err != nil {
				t.Error(err)
			}
		})
	}
	if err := b.crowd(&l, 16, total*3/4/16); err != nil {
		t.Error(err)
	}
	beside.Wait()
	l.audit(t, "snowfence")
	if err := pgSameFields(b, s, l.ids[max(0, len(l.ids)-500):]); err != nil {
		t.Error(err)
	}
}

// pgSameFields compares what SQL and Go say of IDs.
func pgSameFields(b pgBase, s *snowfence.Scheme, ids []snowfence.ID) error {
	return b.with(func(ctx context.Context, c *pgx.Conn) error {
		for _, id := range ids {
			want, err := s.Decode(id)
			if err != nil {
				return err
			}
			var got snowfence.Parts
			to := []any{&got.Time, &got.Tick, &got.Node, &got.Sequence, &got.Tag}
			if s.Layout().Bits(snowfence.FieldTag) == 0 {
				to = to[:4]
			}
			err = c.QueryRow(ctx, "SELECT * FROM snowfence_decode($1)", int64(id)).Scan(to...)
			if err != nil {
				return fmt.Errorf("ID %d: %w", id, err)
			}
			got.Time = got.Time.UTC()
			if got != want {
				return fmt.Errorf("ID %d is %+v in SQL and %+v in Go", id, got, want)
			}
		}
		return nil
	})
}
