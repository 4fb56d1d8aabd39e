package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/snowfence/snowfence/internal/imports"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/servers"
)

const patience = 10 * time.Minute

// scene is a database with an old counter, and a store for sequences.
type scene struct {
	t     *testing.T
	ctx   context.Context
	db    *sql.DB
	store store.Store
	old   old
	from  imports.Counter

	mu   sync.Mutex
	seen map[int64]string
}

func newScene(t *testing.T, m *servers.MariaDB, o old, from imports.Counter) *scene {
	t.Helper()
	db, err := sql.Open("mysql", m.DSN(m.NewDatabase(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	for _, s := range o.schema() {
		if _, err := db.ExecContext(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	st, err := sqlstore.New(db, sqlstore.MySQL())
	if err != nil {
		t.Fatal(err)
	}
	return &scene{t: t, ctx: ctx, db: db, store: st, old: o, from: from, seen: map[int64]string{}}
}

// note fails if a number comes twice.
func (s *scene) note(who string, numbers ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range numbers {
		if by := s.seen[n]; by != "" {
			s.t.Errorf("%s gave number %d, which %s had given", who, n, by)
		}
		s.seen[n] = who
	}
}

// oldPrograms gives segments until it is stopped. A conflict is not the end of it.
func (s *scene) oldPrograms(stop chan struct{}) *sync.WaitGroup {
	var wg sync.WaitGroup
	for p := range 3 {
		wg.Go(func() {
			for given := 0; ; {
				select {
				case <-stop:
					if given > 3 {
						return
					}
				default:
				}
				numbers, err := s.old.segment(s.ctx, s.db)
				switch {
				case err == nil:
					given++
					s.note(fmt.Sprint("old program ", p), numbers...)
					time.Sleep(time.Millisecond) // a busy database starves who is slower
				case s.ctx.Err() != nil || !retryable(err):
					s.t.Errorf("an old program: %v", err)
					return
				}
			}
		})
	}
	return &wg
}

func retryable(err error) bool {
	return strings.Contains(err.Error(), "conflict") || strings.Contains(err.Error(), "Error 1213")
}

// newPrograms takes numbers from the sequence.
func (s *scene) newPrograms(each int) {
	var wg sync.WaitGroup
	for p := range 2 {
		wg.Go(func() {
			q, err := sequence.Open(s.ctx, s.store, "orders", nil)
			if err != nil {
				s.t.Error(err)
				return
			}
			defer q.Close()
			for range each {
				n, err := q.Next(s.ctx)
				if err != nil {
					s.t.Error(err)
					return
				}
				s.note(fmt.Sprint("new program ", p), n)
			}
		})
	}
	wg.Wait()
}

func (s *scene) begin(block int64) (sequence.Info, error) {
	d := sequence.Definition{MinRange: 5, MaxRange: 50}
	return imports.Begin(s.ctx, s.db, s.from, s.store, "orders", block, d)
}

func (s *scene) finish() (sequence.Info, error) {
	return imports.Finish(s.ctx, s.db, s.from, s.store, "orders", sequence.Definition{})
}

func counters() map[string]struct {
	old  old
	from imports.Counter
} {
	return map[string]struct {
		old  old
		from imports.Counter
	}{
		"leaf":          {leaf{"orders"}, imports.Counter{System: imports.Leaf, Name: "orders"}},
		"tinyid":        {tinyid{1, 0}, imports.Counter{System: imports.TinyID, Name: "orders"}},
		"tinyid, third": {tinyid{3, 0}, imports.Counter{System: imports.TinyID, Name: "orders"}},
		"cosid":         {cosid{}, imports.Counter{System: imports.CosID, Name: "shop.orders"}},
		"wuid":          {wuid{}, imports.Counter{System: imports.WUID}},
	}
}

// TestImports needs one server.
func TestImports(t *testing.T) {
	m := servers.StartMariaDB(t)
	for name, test := range map[string]func(*testing.T, *servers.MariaDB){
		"beside old programs": importBesideOldPrograms, "while old programs run": finishWhileOldProgramsRun,
		"killed": importThatIsKilled, "without a block": finishAlone, "refused": importsThatAreRefused,
		"made again": counterThatIsMadeAgain, "near the end": countersNearTheirEnd,
		"small blocks of tinyid": smallBlocksOfTinyID, "block ends": blockEnds, "next block": nextBlock, "late": lateSegment,
		"faster": fasterPrograms, "other order": otherOrder,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, m)
		})
	}
}

// Old programs take segments before, during and after an import begins, and new programs take
// numbers beside them: none comes twice. After the old ones have stopped, the sequence goes on
// above all, and an old program that is started again gets nothing.
func importBesideOldPrograms(t *testing.T, m *servers.MariaDB) {
	for name, c := range counters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, m, c.old, c.from)
			stop := make(chan struct{})
			running := s.oldPrograms(stop)
			if _, err := c.old.segment(s.ctx, s.db); err != nil && !retryable(err) { // CosId makes its row
				t.Fatal(err)
			}
			info, err := s.begin(600)
			if err != nil {
				t.Fatal(err)
			}
			s.newPrograms(60)
			again, err := s.begin(600)
			is, was := again.Definition, info.Definition
			if err != nil || *is.Start != *was.Start || *is.Max != *was.Max {
				t.Errorf("a second time it is %+v, %v, not %+v", again, err, info)
			}
			raise := sequence.Changes{Max: new(*is.Max + is.Step)}
			if err := sequence.Update(s.ctx, s.store, "orders", raise); !errors.Is(err, sequence.ErrBlock) {
				t.Errorf("max was raised to numbers of old programs: %v", err)
			}
			close(stop)
			running.Wait()
			for range 2 { // the second time nothing happens
				done, err := s.finish()
				if err != nil {
					t.Fatal(err)
				}
				s.mu.Lock()
				for n := range s.seen {
					if n >= done.Next {
						t.Errorf("the sequence goes on at %d, and %d was given", done.Next, n)
						break
					}
				}
				s.mu.Unlock()
				s.newPrograms(30)
			}
			if numbers, err := c.old.segment(s.ctx, s.db); err == nil {
				t.Errorf("an old program that was started again gave %v", numbers)
			}
			if _, err := s.begin(600); !errors.Is(err, lease.ErrExists) {
				t.Errorf("begun again after its end: %v", err)
			}
		})
	}
}

// Old programs that were not stopped get nothing more, and what they hold comes once.
func finishWhileOldProgramsRun(t *testing.T, m *servers.MariaDB) {
	for name, c := range counters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, m, c.old, c.from)
			numbers, err := c.old.segment(s.ctx, s.db)
			if err != nil {
				t.Fatal(err)
			}
			s.note("an old program", numbers...)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					for {
						numbers, err := c.old.segment(s.ctx, s.db)
						switch {
						case err == nil:
							s.note("an old program", numbers...)
						case !retryable(err):
							return // the counter is gone
						}
					}
				})
			}
			if _, err := s.begin(100); err != nil {
				t.Error(err)
			}
			for {
				_, err := s.finish()
				if err == nil {
					break
				}
				if !retryable(err) {
					t.Error(err)
					break
				}
			}
			s.newPrograms(200)
			wg.Wait()
		})
	}
}
