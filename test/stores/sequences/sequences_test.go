// Package sequences tests sequences on real databases, with programs that are killed.
package sequences

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return st
}

// databases returns functions that make an empty database each, by the name of its kind.
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

const driverEnv, dsnEnv = "SNOWFENCE_TEST_DRIVER", "SNOWFENCE_TEST_DSN"

// TestMain is also the program that the tests start many times: it prints each number that it
// takes, one a line, until it is killed or its input ends.
func TestMain(m *testing.M) {
	if driver := os.Getenv(driverEnv); driver != "" {
		if err := program(database{driver, os.Getenv(dsnEnv)}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func program(d database) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		cancel()
	}()
	db, st, err := d.open()
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := sequence.Open(ctx, st, "orders", nil)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		n, err := s.Next(ctx)
		if err != nil {
			break
		}
		fmt.Println(n)
	}
	return s.Close()
}

// Programs take numbers, are killed, and start again: none comes twice, and after a clean end of
// all a dense sequence has gaps only where one was killed.
func TestProgramsThatAreKilled(t *testing.T) {
	for name, on := range databases(t) {
		for _, mode := range []sequence.Mode{sequence.Fast, sequence.Dense, sequence.Strict} {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				d := on(t)
				st := d.store(t)
				definition := sequence.Definition{Mode: mode, MinRange: 10, MaxRange: 50}
				if err := sequence.Create(t.Context(), st, "orders", definition); err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				seen := map[int64]bool{}
				var wg sync.WaitGroup
				for p := range 2 {
					wg.Go(func() {
						for life := range 3 {
							for _, n := range live(t, d, 40+30*p, life < 2) {
								mu.Lock()
								if seen[n] {
									t.Errorf("number %d came twice", n)
								}
								seen[n] = true
								mu.Unlock()
							}
						}
					})
				}
				wg.Wait()
				if len(seen) < 6*40 {
					t.Errorf("only %d numbers", len(seen))
				}
				info, err := sequence.Show(t.Context(), st, "orders")
				if err != nil || info.RolledBack {
					t.Fatalf("%+v, %v", info, err)
				}
				for n := range seen {
					if n >= info.Next {
						t.Errorf("number %d was given, and the store says that %d is the next", n, info.Next)
					}
				}
			})
		}
	}
}

// live runs a program until it has printed some numbers, and kills it or lets it end. It returns
// all that it printed.
func live(t *testing.T, d database, count int, kill bool) (numbers []int64) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), driverEnv+"="+d.driver, dsnEnv+"="+d.dsn)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return nil
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // what was cut off was not given to anybody
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			t.Error(err)
		}
		if numbers = append(numbers, n); len(numbers) == count {
			if kill {
				_ = cmd.Process.Kill()
			} else {
				in.Close()
			}
		}
	}
	if err := cmd.Wait(); err != nil && !kill {
		t.Errorf("a program: %v", err)
	}
	if len(numbers) < count {
		t.Errorf("a program ended after %d numbers", len(numbers))
	}
	return numbers
}

// call is one number, with the times at which it was asked for and given.
type call struct {
	begun, ended time.Duration
	number       int64
}

// In strict mode a call that begins after another one ended has the higher number, over all
// programs. Each store here has connections of its own, as another program would.
func TestStrictOrderOverPrograms(t *testing.T) {
	for name, on := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			err := sequence.Create(t.Context(), d.store(t), "orders", sequence.Definition{Mode: sequence.Strict})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			var mu sync.Mutex
			var calls []call
			var wg sync.WaitGroup
			for range 3 {
				s, err := sequence.Open(t.Context(), d.store(t), "orders", nil)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for range 4 {
					wg.Go(func() {
						for range 25 {
							begun := time.Since(start)
							n, err := next(t.Context(), s)
							if err != nil {
								t.Error(err)
								return
							}
							c := call{begun, time.Since(start), n}
							mu.Lock()
							calls = append(calls, c)
							mu.Unlock()
						}
					})
				}
			}
			wg.Wait()
			inOrder(t, calls)
			slices.SortFunc(calls, func(a, b call) int { return int(a.number - b.number) })
			for i, c := range calls {
				if c.number != int64(i+1) {
					t.Fatalf("number %d is %d, in a sequence from which nothing was lost", i+1, c.number)
				}
			}
		})
	}
}

func next(ctx context.Context, s *sequence.Sequence) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.Next(ctx)
}

// inOrder compares each call with the highest number of those that ended before it began.
func inOrder(t *testing.T, calls []call) {
	byBegin, byEnd := slices.Clone(calls), slices.Clone(calls)
	slices.SortFunc(byBegin, func(a, b call) int { return int(a.begun - b.begun) })
	slices.SortFunc(byEnd, func(a, b call) int { return int(a.ended - b.ended) })
	highest := int64(0)
	for _, c := range byBegin {
		for len(byEnd) > 0 && byEnd[0].ended < c.begun {
			highest = max(highest, byEnd[0].number)
			byEnd = byEnd[1:]
		}
		if c.number <= highest {
			t.Errorf("a call that began at %v got %d, after %d had been given", c.begun, c.number, highest)
		}
	}
}

// Rows that are put back into the same tables stop the sequence, because the database has another
// identity then, also where the rows are of the last moment.
func TestRowsThatArePutBack(t *testing.T) {
	for name, on := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := on(t)
			st := d.store(t)
			definition := sequence.Definition{Mode: sequence.Strict}
			if err := sequence.Create(t.Context(), st, "orders", definition); err != nil {
				t.Fatal(err)
			}
			s, err := sequence.Open(t.Context(), st, "orders", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if n, err := next(t.Context(), s); err != nil || n != 1 {
				t.Fatalf("%d, %v", n, err)
			}
			byHand, _, err := d.open()
			if err != nil {
				t.Fatal(err)
			}
			defer byHand.Close()
			run := func(statements ...string) {
				t.Helper()
				for _, statement := range statements {
					if _, err := byHand.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
			}
			run("CREATE TABLE saved AS SELECT * FROM snowfence_lease")
			if n, err := next(t.Context(), s); err != nil || n != 2 {
				t.Fatalf("%d, %v", n, err)
			}
			run("DELETE FROM snowfence_lease", "INSERT INTO snowfence_lease SELECT * FROM saved")
			if n, err := next(t.Context(), s); !errors.Is(err, sequence.ErrRolledBack) {
				t.Fatalf("after rows were put back: %d, %v", n, err)
			}
			floor := int64(3)
			if err := sequence.Confirm(t.Context(), st, "orders", sequence.Confirmation{Floor: &floor}); err != nil {
				t.Fatal(err)
			}
			if n, err := next(t.Context(), s); err != nil || n != 3 {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
}

// A sequence whose row is gone, and that is made again, gives no number before it is confirmed.
// MariaDB does not notice it, as MySQL says.
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
				if err := sequence.Create(t.Context(), st, name, sequence.Definition{}); err != nil {
					t.Fatal(err)
				}
				if _, err := sequence.Open(t.Context(), st, name, nil); err != nil {
					t.Fatal(err)
				}
			}
			byHand, _, err := d.open()
			if err != nil {
				t.Fatal(err)
			}
			defer byHand.Close()
			_, err = byHand.ExecContext(t.Context(), "DELETE FROM snowfence_lease WHERE namespace = '#orders'")
			if err != nil {
				t.Fatal(err)
			}
			if err := sequence.Create(t.Context(), st, "orders", sequence.Definition{}); err != nil {
				t.Fatal(err)
			}
			if _, err := sequence.Open(t.Context(), st, "orders", nil); !errors.Is(err, sequence.ErrRolledBack) {
				t.Errorf("a sequence that was made again: %v", err)
			}
		})
	}
}
