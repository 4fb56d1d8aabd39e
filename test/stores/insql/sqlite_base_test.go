package insql

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/snowfence/snowfence"
)

// A file is an SQLite database with the table of a text, and the statements in its comments.
type file struct {
	db         *sql.DB
	statements map[string]string
}

func sqliteText(t testing.TB, args ...string) string {
	return program(t, append([]string{"sql", "--dialect", "sqlite", "--node", fmt.Sprint(node), "--table", "orders.id"},
		args...)...)
}

func newFile(t testing.TB, text string) (file, error) {
	t.Helper()
	// No test takes the power away, so none waits for the disk.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "orders.db")+
		"?_pragma=busy_timeout(120000)&_pragma=journal_mode(WAL)&_pragma=synchronous(0)&_txlock=immediate")
	if err != nil {
		return file{}, err
	}
	t.Cleanup(func() { db.Close() })
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item INTEGER); " + text)
	return file{db, statementsOf(text)}, err
}

// statementsOf takes the statements out of the comments, where each stands below a line with its
// name.
func statementsOf(text string) map[string]string {
	statements, name := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "-- ")
		switch {
		case !ok:
			name = ""
		case strings.HasPrefix(line, ":"):
			name = line[1:]
		case name != "":
			statements[name] += line + "\n"
			if strings.HasSuffix(line, ";") {
				name = ""
			}
		}
	}
	return statements
}

// order inserts a row with a new ID, and commits or rolls back.
func (f file) order(ctx context.Context, commit bool) (id snowfence.ID, err error) {
	tx, err := f.db.BeginTx(ctx, nil) // BEGIN IMMEDIATE
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, f.statements["next"]).Scan((*int64)(&id)); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, f.statements["insert"], sql.Named("id", int64(id))); err != nil {
		return 0, err
	}
	if !commit {
		return id, tx.Rollback()
	}
	return id, tx.Commit()
}

func (f file) orders(l *ledger, n int) error {
	for range n {
		id, err := f.order(context.Background(), true)
		if err != nil {
			return err
		}
		l.add(id)
	}
	return l.repeated()
}

// sqliteAgain makes a database and runs a text there twice.
func sqliteAgain(t testing.TB, text string) (file, error) {
	f, err := newFile(t, text)
	if err != nil {
		return f, err
	}
	f.statements["setup"] = text
	if _, err := f.db.Exec(text); err != nil {
		return f, fmt.Errorf("a second time: %w", err)
	}
	return f, nil
}
