package insql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/snowfence/snowfence"
)

func sqliteProbe(name, layout string, look func(f file, s *snowfence.Scheme) error) probe[file] {
	return probe[file]{name, []string{"--layout", layout}, func(f file) error {
		s, err := schemeOf(layout)
		if err != nil {
			return err
		}
		return look(f, s)
	}}
}

var sqliteProbes = []probe[file]{
	sqliteProbe("fields", "snowfence", sqliteFields),
	sqliteProbe("numbers left out", "time=41,node=10,seq=8,first=5,last=99", sqliteFields),
	sqliteProbe("parts around the sequence", "time=39,shard=6,seq=8,node=10,epoch=2020-01-01,tick=10ms", sqliteFields),
	sqliteProbe("rolled back", "snowfence", sqliteRolledBack),
	sqliteProbe("too far ahead", "snowfence", sqliteTooFar),
	sqliteProbe("another node", "snowfence", sqliteAnother),
	sqliteProbe("both ways", "snowfence", sqliteBothWays),
	sqliteProbe("both ways, parts", "time=39,shard=6,seq=8,node=10,epoch=2020-01-01,tick=10ms", sqliteBothWays),
}

func sqliteFields(f file, s *snowfence.Scheme) error {
	var l ledger
	began := time.Now()
	if err := f.orders(&l, 100); err != nil {
		return err
	}
	var last snowfence.Parts
	low := map[int64]bool{}
	for _, id := range l.ids {
		p, err := s.Decode(id)
		if err != nil {
			return err
		}
		if p.Node != node || p.Sequence < s.Layout().First || p.Sequence > s.Layout().Last || p.Tick < last.Tick ||
			p.Time.Before(began.Add(-s.Layout().Tick-time.Millisecond)) || p.Time.After(time.Now().Add(time.Second)) {
			return fmt.Errorf("%d is %+v, after %+v", id, p, last)
		}
		last = p
		low[p.Sequence%16] = true
	}
	if len(low) < 16 {
		return fmt.Errorf("100 IDs have %d of the 16 values of the lowest bits", len(low))
	}
	return nil
}

// sqliteRolledBack checks that only a committed ID is one, and that it never comes again.
func sqliteRolledBack(f file, s *snowfence.Scheme) error {
	var l ledger
	for range 20 {
		if _, err := f.order(context.Background(), false); err != nil {
			return err
		}
		if err := f.orders(&l, 1); err != nil {
			return err
		}
	}
	// The position after the clock stepped back: IDs go on above it.
	ahead := s.Layout().TickOf(time.Now()) + 900
	if _, err := f.db.Exec("UPDATE snowfence_position SET position = ?", ahead*4096); err != nil {
		return err
	}
	id, err := f.order(context.Background(), true)
	if err != nil {
		return err
	}
	if p, err := s.Decode(id); err != nil || p.Tick < ahead {
		return fmt.Errorf("%+v after tick %d, %w", p, ahead, err)
	}
	return f.orders(&l, 2)
}

func sqliteTooFar(f file, s *snowfence.Scheme) error {
	for _, tick := range []int64{s.Layout().TickOf(time.Now()) + 60_000, s.MaxTick() + 1} {
		if _, err := f.db.Exec("UPDATE snowfence_position SET position = ?", tick*4096); err != nil {
			return err
		}
		if id, err := f.order(context.Background(), true); !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("with the position at tick %d: %d, %w", tick, id, err)
		}
	}
	return nil
}

func sqliteAnother(f file, _ *snowfence.Scheme) error {
	for _, column := range []string{"node = node + 1", "layout = 'x' || layout"} {
		if _, err := f.db.Exec("UPDATE snowfence_position SET " + column); err != nil {
			return err
		}
		if id, err := f.order(context.Background(), true); !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%s: %d, %w", column, id, err)
		}
		if _, err := f.db.Exec(f.statements["setup"]); err == nil {
			return fmt.Errorf("%s: the setup runs", column)
		}
		if _, err := f.db.Exec("UPDATE snowfence_position SET node = 5, layout = trim(layout, 'x')"); err != nil {
			return err
		}
	}
	return nil
}

func sqliteBothWays(f file, s *snowfence.Scheme) error {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		p := snowfence.Parts{
			Tick: r.Int64N(s.MaxTick() + 1), Node: r.Int64N(s.Nodes()), Sequence: r.Int64N(s.Layout().Last + 1),
		}
		id, err := s.Compose(p)
		if err != nil {
			return err
		}
		var at, tick, number, seq int64
		row := f.db.QueryRow(f.statements["decode"], sql.Named("id", int64(id)))
		if err := row.Scan(&at, &tick, &number, &seq); err != nil {
			return err
		}
		if tick != p.Tick || number != p.Node || seq != p.Sequence || at != s.Layout().TimeOf(tick).UnixMilli() {
			return fmt.Errorf("%d is %+v, the database says %d, %d, %d, %d", id, p, at, tick, number, seq)
		}
		row = f.db.QueryRow(f.statements["decode"], sql.Named("id", -int64(id)-1))
		if err := row.Scan(&at, &tick, &number, &seq); !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%d is no ID, the database says %w", -int64(id)-1, err)
		}
		when := s.Layout().TimeOf(p.Tick).Add(time.Duration(r.Int64N(3)) * time.Millisecond)
		lo, _, err := s.Range(when, when)
		var first int64
		err = errors.Join(err, f.db.QueryRow(f.statements["range"], sql.Named("time", when.UnixMilli())).Scan(&first))
		if err != nil || first != int64(lo) {
			return fmt.Errorf("%v: the library says %d, the database %d, %w", when, lo, first, err)
		}
	}
	for _, when := range []time.Time{s.Layout().Epoch.Add(-time.Hour), s.Layout().EndOfLife().Add(time.Hour)} {
		lo, _, err := s.Range(when, when)
		var first int64
		err = errors.Join(err, f.db.QueryRow(f.statements["range"], sql.Named("time", when.UnixMilli())).Scan(&first))
		if err != nil || first != int64(lo) {
			return fmt.Errorf("%v: the library says %d, the database %d, %w", when, lo, first, err)
		}
	}
	return nil
}
