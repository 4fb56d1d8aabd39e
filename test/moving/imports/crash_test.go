package imports

import (
	"context"
	"errors"
	"testing"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var errCrash = errors.New("the program was killed")

// crashing is a store of a program that is killed at a write: before it, or when it is done.
type crashing struct {
	store.Store

	left int
	done bool
}

func (c *crashing) Swap(ctx context.Context, writes []store.Write) []error {
	if c.left--; c.left < 0 {
		if c.done {
			c.Store.Swap(ctx, writes)
			c.done = false
		}
		return []error{errCrash}
	}
	return c.Store.Swap(ctx, writes)
}

// A program that is killed between any two steps is started again, and no number comes twice.
func importThatIsKilled(t *testing.T, m *servers.MariaDB) {
	for name, c := range counters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := range 3 {
				for _, done := range []bool{false, true} {
					s := newScene(t, m, c.old, c.from)
					old := func() {
						numbers, err := c.old.segment(s.ctx, s.db)
						if err != nil {
							t.Fatal(err)
						}
						s.note("an old program", numbers...)
					}
					killed := func(do func() (sequence.Info, error)) {
						whole := s.store
						s.store = &crashing{Store: whole, left: at, done: done}
						_, err := do()
						if err != nil && !errors.Is(err, errCrash) {
							t.Error(err)
						}
						s.store = whole
						if _, err := do(); err != nil {
							t.Fatalf("after a crash at write %d, done %t: %v", at, done, err)
						}
					}
					old()
					killed(func() (sequence.Info, error) { return s.begin(300) })
					old()
					s.newPrograms(20)
					old()
					killed(s.finish)
					s.newPrograms(60)
					if numbers, err := c.old.segment(s.ctx, s.db); err == nil {
						t.Errorf("an old program that was started again gave %v", numbers)
					}
				}
			}
		})
	}
}

// Without a block before, the sequence begins where the counter ended.
func finishAlone(t *testing.T, m *servers.MariaDB) {
	for name, c := range counters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, m, c.old, c.from)
			numbers, err := c.old.segment(s.ctx, s.db)
			if err != nil {
				t.Fatal(err)
			}
			s.note("an old program", numbers...)
			for range 2 {
				info, err := s.finish()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.begin(10); !errors.Is(err, lease.ErrExists) {
					t.Errorf("%+v, %v", info, err)
				}
				s.newPrograms(10)
			}
			if err := sequence.Delete(s.ctx, s.store, "orders"); err != nil {
				t.Fatal(err)
			}
			begin := func() (sequence.Info, error) { return s.begin(10) }
			for _, do := range []func() (sequence.Info, error){s.finish, begin} {
				if info, err := do(); err == nil {
					t.Errorf("of a sequence that was deleted: %+v", info)
				}
			}
		})
	}
}

// A block that has ended is followed by another one, also after a crash, and old programs give what
// lies between.
func nextBlock(t *testing.T, m *servers.MariaDB) {
	for name, c := range counters() {
		if name == "wuid" {
			continue // whose blocks do not end
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, m, c.old, c.from)
			for at := range 4 {
				numbers, err := c.old.segment(s.ctx, s.db)
				if err != nil {
					t.Fatal(err)
				}
				s.note("an old program", numbers...)
				whole := s.store
				s.store = &crashing{Store: whole, left: at}
				if _, err := s.begin(30); err != nil && !errors.Is(err, errCrash) {
					t.Error(err)
				}
				s.store = whole
				info, err := s.begin(30)
				if err != nil || info.Left < 10 {
					t.Fatalf("%+v, %v", info, err)
				}
				q, err := sequence.Open(s.ctx, s.store, "orders", nil)
				if err != nil {
					t.Fatal(err)
				}
				for err == nil {
					var n int64
					if n, err = q.Next(s.ctx); err == nil {
						s.note("a new program", n)
					}
				}
				if !errors.Is(err, sequence.ErrEnded) {
					t.Error(err)
				}
				if err := q.Close(); err != nil {
					t.Error(err)
				}
			}
			if _, err := s.finish(); err != nil {
				t.Error(err)
			}
			s.newPrograms(10)
		})
	}
}
