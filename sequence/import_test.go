package sequence

import (
	"errors"
	"math"
	"testing"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// Each period goes on above the number of the other counter, and the next
// one begins at 1. A second import changes nothing, also when numbers were
// taken.
func TestImportOfPeriods(t *testing.T) {
	ctx, h := clockAt(t, "2026-11-22T12:00:00Z")
	d := Definition{Pattern: daily, Mode: Strict}
	last := map[int64]int64{20261121: 7, 20261122: 41, 20261120: 0, 20261119: 999}
	j := &diary{t, h, ctx, newShaky(), nil}
	for range 2 {
		noError(t, Import(ctx, j.st, name, d, last))
		j.s = j.open(nil)
		wantErr(t, errOf(j.s.Reserve(ctx, 20261119, 1)), ErrEnded, "a period that ended")
	}
	j.takes(j.s, "20261122-042")
	j.takesIn(j.s, 20261121, "20261121-008")
	j.takesIn(j.s, 20261120, "20261120-001")
	j.takesIn(j.s, 20261118, "20261118-001")
	noError(t, Import(ctx, j.st, name, d, last))
	j.takes(j.s, "20261122-043")
	j.set(t, "2026-11-23T12:00:00Z")
	j.takes(j.s, "20261123-001")
}

// A period of which programs took numbers is refused: both counters gave
// them. A program that took none, and knows the period, goes on above.
func TestImportBesidePrograms(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	d := Definition{Pattern: daily, Mode: Strict}
	j.takes(j.s, "20261122-001")
	for _, last := range []int64{5, 1} {
		err := Import(j.ctx, j.st, name, d, map[int64]int64{20261122: last})
		wantErr(t, err, lease.ErrExists, "a number came twice")
	}
	noError(t, Import(j.ctx, j.st, name, d, map[int64]int64{20261122: 0}))
	noError(t, Import(j.ctx, j.st, name, d, map[int64]int64{20261123: 5}))
	j.takesIn(j.s, 20261123, "20261123-006")
	d.Mode = Fast
	wantErr(t, Import(j.ctx, j.st, name, d, map[int64]int64{20261121: 5}), lease.ErrExists, "another definition")
	j.takesIn(j.s, 20261121, "20261121-001") // the refusal changed nothing
	r := j.st.record(t, name)
	r.Nonce, r.Data = "x", r.Data[:len(r.Data)-1]+`,"later":1}`
	j.st.put(t, r)
	fails(t, Import(j.ctx, j.st, name, d, map[int64]int64{20261120: 5}), "a record of a later version")
	if r := j.record(20261120); r.Nonce != "" {
		t.Errorf("a period of a later version: %+v", r)
	}
}

// Another process writes the period at the same time.
func TestImportMeetsAnother(t *testing.T) {
	ctx, h := clockAt(t, "2026-11-22T12:00:00Z")
	j := &diary{t, h, ctx, newShaky(), nil}
	d := Definition{Pattern: daily, Mode: Strict}
	h.hook = func() { // between the read and the write
		h.hook = nil
		noError(t, Import(ctx, j.st, name, d, map[int64]int64{20261122: 9}))
		j.takes(j.open(nil), "20261122-010")
	}
	noError(t, Import(ctx, j.st, name, d, map[int64]int64{20261122: 9}))
	j.takes(j.open(nil), "20261122-011")
}

// A sequence of the same definition is moved here after the periods were
// raised, and its periods replace them: numbers of the other counter would
// come again.
func TestImportMeetsAMove(t *testing.T) {
	j := opened(t, "2026-11-22T12:00:00Z", Definition{Pattern: daily, Mode: Strict})
	j.takes(j.s, "20261122-001")
	from, to := store.Place{Store: j.st, Name: "from"}, store.Place{Store: store.NewMemory(), Name: "to"}
	st := newShaky()
	st.Store = to.Store
	st.after = func(op string) error {
		if op != "swap" {
			return nil
		}
		st.after = nil
		return Move(j.ctx, name, from, to)
	}
	err := Import(j.ctx, st, name, Definition{Pattern: daily, Mode: Strict}, map[int64]int64{20261122: 5})
	wantErr(t, err, lease.ErrExists, "numbers of the other counter come again")
	wantErr(t, errOf(Show(j.ctx, j.st, name)), store.ErrMoved, "the sequence that was moved")
	if all, err := List(j.ctx, j.st); err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestImportPlain(t *testing.T) {
	st := store.NewMemory()
	for range 2 {
		noError(t, Import(t.Context(), st, name, Definition{Mode: Strict}, map[int64]int64{0: 41}))
	}
	expect(t, open(t, st, nil), 42)
	if err := Import(t.Context(), st, name, Definition{Mode: Strict}, map[int64]int64{0: 50}); !errors.Is(err,
		lease.ErrExists) {
		t.Errorf("the other counter went on: %v", err)
	}
	st = store.NewMemory()
	noError(t, Import(t.Context(), st, name, Definition{Mode: Strict, Step: -5}, map[int64]int64{0: math.MaxInt64}))
	expect(t, open(t, st, nil), math.MaxInt64-1, math.MaxInt64-6)
}

func TestImportRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		d    Definition
		last map[int64]int64
		want error
	}{
		{"day.20261122", Definition{}, map[int64]int64{0: 1}, lease.ErrInvalid},
		{"a", Definition{}, map[int64]int64{0: math.MaxInt64}, ErrEnded},
		{"a", Definition{Step: -1}, map[int64]int64{0: math.MinInt64}, ErrEnded},
		{"a", Definition{Pattern: daily}, map[int64]int64{20261122: math.MaxInt64}, ErrEnded},
		{"a", Definition{Pattern: daily}, map[int64]int64{20261122: 1000}, ErrEnded},
		{"a", Definition{}, map[int64]int64{20261122: 1}, ErrDated},
		{"a", Definition{Pattern: daily}, map[int64]int64{0: 1}, ErrPeriod},
		{"a", Definition{Pattern: daily}, map[int64]int64{202611: 1}, ErrPeriod},
		{"a", Definition{Pattern: daily}, map[int64]int64{20261131: 1}, ErrPeriod},
		{"a", Definition{Pattern: "{yy}-{n}"}, map[int64]int64{1999: 1}, ErrPeriod},
		{"a", Definition{Pattern: "{what}"}, map[int64]int64{20261122: 1}, lease.ErrInvalid},
		{"a", Definition{Pattern: daily, Zone: "Local"}, map[int64]int64{20261122: 1}, lease.ErrInvalid},
	} {
		st := store.NewMemory()
		wantErr(t, Import(t.Context(), st, c.name, c.d, c.last), c.want, "%s, %+v, %v", c.name, c.d, c.last)
		if heads, _, err := st.Heads(t.Context()); err != nil || len(heads) > 0 {
			t.Errorf("%+v was written: %v", heads, err)
		}
	}
}
