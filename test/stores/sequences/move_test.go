package sequences

import (
	"context"
	"database/sql"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
)

var (
	pageBlock  = regexp.MustCompile("(?ms)^```(?:sql|sh)\n(.*?)^```$")
	pageNumber = regexp.MustCompile(`(?:--start|MAXVALUE) (\d+)`)
)

// readMove returns the statements of docs/move/auto-increment.md for a
// database, and the start of the sequence that follows them.
func readMove(t *testing.T, kind string) (statements string, start int64) {
	t.Helper()
	page := must(os.ReadFile("../../../docs/move/auto-increment.md"))
	blocks := pageBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 4 {
		t.Fatalf("%d blocks", len(blocks))
	}
	first := map[string]int{"postgres": 0, "mariadb": 2}[kind]
	return blocks[first][1], numberIn(t, blocks[first+1][1])
}

// numberIn returns the start or the maximum in a command of the page.
func numberIn(t *testing.T, command string) int64 {
	t.Helper()
	found := pageNumber.FindStringSubmatch(command)
	if found == nil {
		t.Fatalf("no number in %q", command)
	}
	return must(strconv.ParseInt(found[1], 10, 64))
}

// runAll runs statements on one connection.
func runAll(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	conn := must(db.Conn(t.Context()))
	defer conn.Close()
	for s := range strings.SplitSeq(strings.TrimSpace(statements), ";") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// Old programs go on inserting rows without a number, while new ones insert
// numbers of a sequence.
func TestBesideAutoIncrement(t *testing.T) {
	const (
		insert   = "INSERT INTO orders (note) VALUES ('old')"
		numbered = "INSERT INTO orders (id, note) VALUES (?, 'new')"
	)
	statements, start := readMove(t, "mariadb")
	d := databases(t)["mariadb"](t)
	db, st, err := d.open()
	noError(t, err)
	defer db.Close()
	runAll(t, db, "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, note TEXT)")
	for range 3 {
		runAll(t, db, insert)
	}
	// Rows that are archived or deleted took their numbers with them.
	runAll(t, db, "DELETE FROM orders")
	// An old program goes on over it all, on connections that count in
	// ones. It ends before the first new program.
	moved, wrote := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; t.Context().Err() == nil; n++ {
			select {
			case <-moved:
				wrote <- n
				return
			default:
			}
			if _, err := db.ExecContext(t.Context(), insert); err != nil {
				t.Error("an old program that was not restarted:", err)
			}
		}
	}()
	runAll(t, db, statements)
	defer runAll(t, db, "SET GLOBAL auto_increment_increment = 1")
	s := startSequence(t, st, sequence.Definition{Start: &start, Step: 2})
	old, _, err := d.open() // old programs that were restarted
	noError(t, err)
	defer old.Close()
	close(moved)
	written := <-wrote
	const each = 300
	var programs sync.WaitGroup
	for range 2 {
		programs.Go(func() {
			for range each {
				if _, err := old.ExecContext(t.Context(), insert); err != nil {
					t.Error("an old program:", err)
					return
				}
			}
		})
		programs.Go(func() {
			for range each {
				if err := insertNumbered(t.Context(), db, s, numbered); err != nil {
					t.Error("a new program:", err)
					return
				}
			}
		})
	}
	programs.Wait()
	if n := one(t, db, "SELECT count(*) FROM orders"); n != int64(4*each+written) {
		t.Errorf("%d rows, not %d", n, 4*each+written)
	}
	if n := one(t, db, "SELECT min(id) FROM orders"); n <= 3 {
		t.Errorf("number %d came again", n)
	}
}

func startSequence(t *testing.T, st *sqlstore.Store, def sequence.Definition) *sequence.Sequence {
	t.Helper()
	noError(t, sequence.Create(t.Context(), st, "orders", def))
	s := must(sequence.Open(t.Context(), st, "orders", nil))
	t.Cleanup(func() { s.Close() })
	return s
}

// one returns the number that a query finds.
func one(t *testing.T, db *sql.DB, query string) (n int64) {
	t.Helper()
	noError(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

func insertNumbered(ctx context.Context, db *sql.DB, s *sequence.Sequence, query string) error {
	n, err := s.Next(ctx)
	if err == nil {
		_, err = db.ExecContext(ctx, query, n)
	}
	return err
}
