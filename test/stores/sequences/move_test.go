package sequences

import (
	"context"
	"database/sql"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/sequence"
)

var blockOfSQL = regexp.MustCompile("(?ms)^```sql\n(.*?)^```$")

// Old programs go on inserting rows without a number, while new ones insert numbers of a sequence,
// after the statements of docs/move/auto-increment.md.
func TestBesideAutoIncrement(t *testing.T) {
	page, err := os.ReadFile("../../../docs/move/auto-increment.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := blockOfSQL.FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of SQL", len(blocks))
	}
	kinds := databases(t)
	for name, step := range map[string]struct{ makes, insert, numbered, prepare string }{
		"mariadb": {
			"CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, note TEXT)",
			"INSERT INTO orders (note) VALUES ('old')", "INSERT INTO orders (id, note) VALUES (?, 'new')", blocks[0][1],
		},
		"postgres": {
			"CREATE TABLE orders (id BIGSERIAL PRIMARY KEY, note TEXT)",
			"INSERT INTO orders (note) VALUES ('old')", "INSERT INTO orders (id, note) VALUES ($1, 'new')", blocks[1][1],
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := kinds[name](t)
			db, st, err := d.open()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			run := func(db *sql.DB, statements string) {
				t.Helper()
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
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
			run(db, step.makes)
			for range 3 {
				run(db, step.insert)
			}
			// Rows that are archived or deleted took their numbers with them.
			run(db, "DELETE FROM orders")
			// An old program goes on over it all, on connections that it had before: connections of
			// MariaDB count in ones, so it ends before the first new program.
			moved, wrote := make(chan struct{}), make(chan int)
			go func() {
				for n := 0; t.Context().Err() == nil; n++ {
					select {
					case <-moved:
						wrote <- n
						return
					default:
					}
					if _, err := db.ExecContext(t.Context(), step.insert); err != nil {
						t.Error("an old program that was not restarted:", err)
					}
				}
			}()
			run(db, step.prepare)
			if name == "mariadb" {
				defer run(db, "SET GLOBAL auto_increment_increment = 1")
			}

			const start, each = int64(2_000_000), 300
			err = sequence.Create(t.Context(), st, "orders", sequence.Definition{Start: new(start), Step: 2})
			if err != nil {
				t.Fatal(err)
			}
			s, err := sequence.Open(t.Context(), st, "orders", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			old, _, err := d.open() // old programs that were restarted
			if err != nil {
				t.Fatal(err)
			}
			defer old.Close()
			written := 0
			end := func() { close(moved); written = <-wrote }
			if name == "mariadb" {
				end()
			}
			var programs sync.WaitGroup
			for range 2 {
				programs.Go(func() {
					for range each {
						if _, err := old.ExecContext(t.Context(), step.insert); err != nil {
							t.Error("an old program:", err)
							return
						}
					}
				})
				programs.Go(func() {
					for range each {
						if err := insertNumbered(t.Context(), db, s, step.numbered); err != nil {
							t.Error("a new program:", err)
							return
						}
					}
				})
			}
			programs.Wait()
			if name != "mariadb" {
				end()
			}
			all := 4*each + written
			var rows int
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if rows != all {
				t.Errorf("%d rows, not %d", rows, all)
			}
			if err := db.QueryRowContext(t.Context(), "SELECT min(id) FROM orders").Scan(&rows); err != nil ||
				rows <= 3 {
				t.Errorf("number %d came again, %v", rows, err)
			}
		})
	}
}

func insertNumbered(ctx context.Context, db *sql.DB, s *sequence.Sequence, query string) error {
	n, err := s.Next(ctx)
	if err == nil {
		_, err = db.ExecContext(ctx, query, n)
	}
	return err
}
