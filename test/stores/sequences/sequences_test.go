// Package sequences tests sequences on real databases.
package sequences

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// patience is how long anything may take that has to come.
const patience = 5 * time.Minute

// database is where a program finds its sequence.
type database struct{ driver, dsn string }

func (d database) open() (*sql.DB, *sqlstore.Store, error) {
	dialects := map[string]sqlstore.Dialect{
		"sqlite": sqlstore.SQLite(), "pgx": sqlstore.PostgreSQL(), "mysql": sqlstore.MySQL(),
	}
	db, err := sql.Open(d.driver, d.dsn)
	if err != nil {
		return nil, nil, err
	}
	st, err := sqlstore.New(db, dialects[d.driver])
	return db, st, err
}

// store opens the database for a test.
func (d database) store(t testing.TB) *sqlstore.Store {
	t.Helper()
	db, st, err := d.open()
	noError(t, err)
	t.Cleanup(func() { db.Close() })
	return st
}

// databases returns functions that make an empty database each, by the name
// of its kind.
func databases(t testing.TB) map[string]func(testing.TB) database {
	p, m := servers.StartPostgres(t, "max_prepared_transactions=4"), servers.StartMariaDB(t)
	return map[string]func(testing.TB) database{
		"sqlite": func(t testing.TB) database {
			path := filepath.Join(t.TempDir(), "ids.db")
			return database{"sqlite", "file:" + path + "?_pragma=busy_timeout(100000)&_txlock=immediate"}
		},
		"postgres": func(t testing.TB) database { return database{"pgx", p.URL(p.NewDatabase(t))} },
		"mariadb":  func(t testing.TB) database { return database{"mysql", m.DSN(m.NewDatabase(t))} },
	}
}

func next(ctx context.Context, s *sequence.Sequence) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.Next(ctx)
}

// A sequence whose row is gone, and that is made again, gives no number
// before it is confirmed. MariaDB does not notice it, as MySQL says.
func TestSequenceThatIsMadeAgain(t *testing.T) {
	for name, on := range databases(t) {
		if name == "mariadb" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			st := d.store(t)
			for _, name := range []string{"orders", "others"} {
				noError(t, sequence.Create(t.Context(), st, name, sequence.Definition{}))
				must(sequence.Open(t.Context(), st, name, nil))
			}
			byHand, _, err := d.open()
			noError(t, err)
			defer byHand.Close()
			must(byHand.ExecContext(t.Context(), "DELETE FROM snowfence_lease WHERE namespace = '#orders'"))
			noError(t, sequence.Create(t.Context(), st, "orders", sequence.Definition{}))
			if _, err := sequence.Open(t.Context(), st, "orders", nil); !errors.Is(err, sequence.ErrRolledBack) {
				t.Errorf("a sequence that was made again: %v", err)
			}
		})
	}
}
