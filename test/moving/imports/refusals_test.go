package imports

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/internal/imports"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// What is wrong is said before anything is taken.
func importsThatAreRefused(t *testing.T, m *servers.MariaDB) {
	s := newScene(t, m, leaf{"orders"}, imports.Counter{System: imports.Leaf, Name: "orders"})
	begin := func(c imports.Counter, name string, block int64, d sequence.Definition) error {
		_, err := imports.Begin(s.ctx, s.db, c, s.store, name, block, d)
		return err
	}
	if err := sequence.Create(s.ctx, s.store, "there", sequence.Definition{}); err != nil {
		t.Fatal(err)
	}
	for why, err := range map[string]error{
		"no system \"ticket\"":   begin(imports.Counter{System: "ticket", Name: "orders"}, "orders", 10, sequence.Definition{}),
		"name one":               begin(imports.Counter{System: imports.Leaf}, "orders", 10, sequence.Definition{}),
		"a table for each":       begin(imports.Counter{System: imports.WUID, Name: "a"}, "orders", 10, sequence.Definition{}),
		"without its database":   begin(imports.Counter{System: imports.WUID, Table: "a.b"}, "orders", 10, sequence.Definition{}),
		"use 1 or more":          begin(s.from, "orders", 0, sequence.Definition{}),
		"leave them out":         begin(s.from, "orders", 10, sequence.Definition{Step: 2}),
		"no such row":            begin(imports.Counter{System: imports.Leaf, Name: "none"}, "orders", 10, sequence.Definition{}),
		"the ranges are from":    begin(s.from, "orders", 10, sequence.Definition{MinRange: 9, MaxRange: 3}),
		"does not end in a dot":  begin(s.from, "orders.1", 10, sequence.Definition{}),
		"name another one":       begin(s.from, "there", 10, sequence.Definition{}),
		"tiny_id_info":           begin(imports.Counter{System: imports.TinyID, Name: "orders"}, "orders", 10, sequence.Definition{}),
		"table wuid of wuid":     begin(imports.Counter{System: imports.WUID}, "orders", 10, sequence.Definition{}),
		"use leaf, tinyid, cosi": begin(imports.Counter{Name: "x"}, "orders", 10, sequence.Definition{}),
	} {
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("not %q: %v", why, err)
		}
	}
	_, err := imports.Finish(s.ctx, s.db, s.from, s.store, "there", sequence.Definition{})
	if !errors.Is(err, lease.ErrExists) {
		t.Errorf("a sequence that was not begun with the counter was finished: %v", err)
	}
	_, err = imports.Finish(s.ctx, s.db, s.from, s.store, "orders", sequence.Definition{Max: new(int64(0))})
	if err == nil {
		t.Error("a max below the counter was taken")
	}
	if _, err := s.begin(10); err != nil {
		t.Fatal(err)
	}
	if err := sequence.Create(s.ctx, s.store, "low", sequence.Definition{Max: new(int64(3))}); err != nil {
		t.Fatal(err)
	}
	if err := begin(s.from, "low", 10, sequence.Definition{}); !errors.Is(err, lease.ErrExists) {
		t.Errorf("a sequence that is not of the counter: %v", err)
	}
	_, err = imports.Finish(s.ctx, s.db, s.from, s.store, "orders", sequence.Definition{Max: new(int64(10))})
	if err == nil || !strings.Contains(err.Error(), "use a higher one") {
		t.Errorf("a max below the counter: %v", err)
	}
	if err := sequence.Create(s.ctx, s.store, "high", sequence.Definition{Start: new(int64(5000))}); err != nil {
		t.Fatal(err)
	}
	if err := begin(s.from, "high", 10, sequence.Definition{}); !errors.Is(err, lease.ErrExists) {
		t.Errorf("a sequence above the counter: %v", err)
	}
	above := sequence.Definition{Start: new(int64(5000)), Max: new(int64(5009)), BlockOf: s.from.String()}
	if err := sequence.Create(s.ctx, s.store, "above", above); err != nil {
		t.Fatal(err)
	}
	if err := begin(s.from, "above", 10, sequence.Definition{}); !errors.Is(err, lease.ErrExists) {
		t.Errorf("a block that the counter has not reached: %v", err)
	}
	var n int64
	const query = "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'orders'"
	if err := s.db.QueryRowContext(s.ctx, query).Scan(&n); err != nil || n != 11 {
		t.Errorf("the counter was at 11, and is at %d: %v", n, err)
	}
}

// A program makes the counter again after it was moved: nothing is taken from it.
func counterThatIsMadeAgain(t *testing.T, m *servers.MariaDB) {
	for name, again := range map[string]string{
		"leaf":   "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 20)",
		"tinyid": "INSERT INTO tiny_id_info (biz_type, max_id, step) VALUES ('orders', 1, 20)",
		"cosid":  "UPDATE cosid SET last_max_id = 20 WHERE name = 'shop.orders'",
		"wuid":   "CREATE TABLE wuid LIKE wuid_moved",
	} {
		t.Run(name, func(t *testing.T) {
			c := counters()[name]
			s := newScene(t, m, c.old, c.from)
			if _, err := c.old.segment(s.ctx, s.db); err != nil {
				t.Fatal(err)
			}
			if _, err := s.finish(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.db.ExecContext(s.ctx, again); err != nil {
				t.Fatal(err)
			}
			begin := func() (sequence.Info, error) { return s.begin(10) }
			for _, do := range []func() (sequence.Info, error){s.finish, begin} {
				if _, err := do(); err == nil || !strings.Contains(err.Error(), "and was made again") {
					t.Error(err)
				}
			}
		})
	}
}

// Counters near their end give no block that does not fit.
func countersNearTheirEnd(t *testing.T, m *servers.MariaDB) {
	for name, at := range map[string]string{
		"leaf":          "UPDATE leaf_alloc SET max_id = 9223372036854775800",
		"cosid":         "UPDATE cosid SET last_max_id = 18446744073709551000",
		"wuid":          "ALTER TABLE wuid AUTO_INCREMENT = 134217728",
		"tinyid":        "UPDATE tiny_id_info SET delta = 0",
		"tinyid, third": "UPDATE tiny_id_info SET remainder = 3",
	} {
		t.Run(name, func(t *testing.T) {
			c := counters()[name]
			s := newScene(t, m, c.old, c.from)
			if _, err := c.old.segment(s.ctx, s.db); err != nil {
				t.Fatal(err)
			}
			if _, err := s.db.ExecContext(s.ctx, at); err != nil {
				t.Fatal(err)
			}
			if info, err := s.begin(math.MaxInt64 / 2); err == nil {
				t.Errorf("%+v", info)
			}
		})
	}
}

// A block of tinyid that has no number of its class is refused, and one with a single number is
// not.
func smallBlocksOfTinyID(t *testing.T, m *servers.MariaDB) {
	c := counters()["tinyid, third"] // 3, 6, 9, … and the counter is at 1
	s := newScene(t, m, c.old, c.from)
	if info, err := s.begin(1); err == nil || !strings.Contains(err.Error(), "take a larger one") {
		t.Errorf("%+v, %v", info, err)
	}
	info, err := s.begin(2)
	if err != nil || *info.Definition.Start != 3 || *info.Definition.Max != 3 || info.Definition.Step != 3 {
		t.Errorf("%+v, %v", info, err)
	}
}

// The ends of blocks are the originals', which the next segment of an old program touches.
func blockEnds(t *testing.T, m *servers.MariaDB) {
	for name, want := range map[string]struct{ first, last, step, next int64 }{
		"leaf":          {21, 320, 1, 321},
		"tinyid":        {52, 351, 1, 352},
		"tinyid, third": {54, 351, 3, 354},
		"cosid":         {21, 320, 1, 321},
		"wuid":          {2 << 36, 3<<36 - 1, 1, 3 << 36},
	} {
		c := counters()[name]
		s := newScene(t, m, c.old, c.from)
		if _, err := c.old.segment(s.ctx, s.db); err != nil {
			t.Fatal(err)
		}
		info, err := s.begin(300)
		d := info.Definition
		if err != nil || *d.Start != want.first || *d.Max != want.last || d.Step != want.step {
			t.Errorf("%s: %+v, %v, not %+v", name, info, err, want)
		}
		if info, err = s.finish(); err != nil || info.Next != want.next {
			t.Errorf("%s: it goes on at %d, %v, not %d", name, info.Next, err, want.next)
		}
	}
}

// An old program takes a segment just before its counter is moved, which a trigger stands for.
func lateSegment(t *testing.T, m *servers.MariaDB) {
	c := counters()["leaf"]
	s := newScene(t, m, c.old, c.from)
	const trigger = "CREATE TRIGGER late BEFORE UPDATE ON leaf_alloc FOR EACH ROW" +
		" SET NEW.max_id = IF(NEW.biz_tag = OLD.biz_tag, NEW.max_id, NEW.max_id + 20)"
	if _, err := s.db.ExecContext(s.ctx, trigger); err != nil {
		t.Fatal(err)
	}
	if _, err := s.begin(300); err != nil { // the counter is at 301
		t.Fatal(err)
	}
	if info, err := s.finish(); err != nil || info.Next != 321 {
		t.Errorf("it goes on at %d, %v", info.Next, err)
	}
}

// Two old programs of wuid meet: the one that counted first writes the row last.
func otherOrder(t *testing.T, m *servers.MariaDB) {
	c := counters()["wuid"]
	s := newScene(t, m, c.old, c.from)
	for range 2 {
		if _, err := c.old.segment(s.ctx, s.db); err != nil {
			t.Fatal(err)
		}
	}
	late := func() {
		t.Helper()
		if _, err := s.db.ExecContext(s.ctx, "REPLACE INTO wuid (h, x) SELECT h - 1, 0 FROM wuid"); err != nil {
			t.Fatal(err)
		}
	}
	late()
	if info, err := s.begin(1); err != nil || *info.Definition.Start != 3<<36 {
		t.Errorf("the block is %+v, %v", info, err)
	}
	late()
	if info, err := s.finish(); err != nil || info.Next != 4<<36 {
		t.Errorf("it goes on at %d, %v", info.Next, err)
	}
}

// Old programs that are always faster are no reason to take what they took.
func fasterPrograms(t *testing.T, m *servers.MariaDB) {
	c := counters()["tinyid"]
	s := newScene(t, m, c.old, c.from)
	stop := make(chan struct{})
	running := s.oldPrograms(stop)
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for n := range rounds {
		name := fmt.Sprint("orders", n)
		info, err := imports.Begin(s.ctx, s.db, s.from, s.store, name, 7, sequence.Definition{})
		if err != nil {
			t.Error(err)
			break
		}
		for n := *info.Definition.Start; n <= *info.Definition.Max; n++ {
			s.note(name, n)
		}
	}
	close(stop)
	running.Wait()
}
