package sequence

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"

	"github.com/snowfence/snowfence/internal/tests"
)

// A range that lasted under 15 minutes is followed by one of twice the
// size, one over 30 minutes by half, and one between by the same; between
// the bounds. In dense mode these are 1 and 2 minutes.
func TestRangesFitTheirPace(t *testing.T) {
	for mode, unit := range map[Mode]time.Duration{Fast: 15 * time.Minute, Dense: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			st, s := made(t, Definition{Mode: mode, MinRange: 100, MaxRange: 800})
			end := int64(0)
			// uses one range after another, each in so long, and returns
			// the size of the last take
			use := func(lasts ...time.Duration) (taken int64) {
				t.Helper()
				for _, d := range lasts {
					p := s.cur.Load()
					for p == s.cur.Load() {
						must(s.Next(t.Context()))
					}
					synctest.Wait()
					from := st.record(t, name).From
					taken, end = from-end, from
					time.Sleep(d)
				}
				return taken
			}
			for i, c := range []struct {
				lasts time.Duration
				want  int64
			}{
				{unit, 200},     // the first two
				{0, 100},        // a unit is long enough
				{unit - 1, 200}, // nothing is not
				{2 * unit, 400}, // a bit less is not
				{2*unit + 1, 400},
				{0, 200}, // two units and a bit are too long
				{0, 400},
				{0, 800},
				{0, 800},
				{3 * unit, 800},
				{3 * unit, 400},
				{3 * unit, 200},
				{3 * unit, 100},
				{3 * unit, 100},
			} {
				if got := use(c.lasts); got != c.want {
					t.Errorf("%s: take %d is of %d numbers, want %d", mode, i, got, c.want)
				}
			}
		})
	}
}

// Exact takes what is asked for: two programs in a row print 1 and 2.
func TestExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := made(t, Definition{})
		exact := open(t, st, &Options{Exact: true})
		expect(t, exact, 1)
		tests.Refuses(t, tests.ErrOf(exact.TryNext()), ErrNotReady, "each number")
		noError(t, exact.Close())
		synctest.Wait()
		expect(t, open(t, st, &Options{Exact: true}), 2)
		expect(t, s, 3)
	})
}

// TryNext takes what is there, and has the store asked for the next call.
func TestTryNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := made(t, Definition{MinRange: 2, MaxRange: 2, Max: new(int64(6))})
		s := open(t, st, &Options{})
		try := func(want int64, kind error) {
			t.Helper()
			if n, err := s.TryNext(); n != want || !errors.Is(err, kind) {
				t.Errorf("%d, %v, want %d, %v", n, err, want, kind)
			}
		}
		try(0, ErrNotReady)
		synctest.Wait()
		try(1, nil)
		synctest.Wait()
		if n := s.Status().Held; n != 1 {
			t.Errorf("%d numbers are held", n)
		}
		for n := int64(2); n <= 6; n++ {
			try(n, nil)
			synctest.Wait()
		}
		try(0, ErrEnded)
		synctest.Wait() // a look that began before the change does not see it
		noError(t, Update(t.Context(), st, name, Changes{Max: new(int64(7))}))
		try(0, ErrEnded) // and asks
		synctest.Wait()
		try(7, nil)
		if n := s.Status().Held; n != 0 {
			t.Errorf("at the end %d numbers are held", n)
		}
		_, strict := made(t, Definition{Mode: Strict})
		expect(t, strict, 1)
		wantErr(t, errOf(strict.TryNext()), ErrNotReady, "strict")
		s.Close()
		try(0, ErrClosed)
	})
}

// A store without additions is swapped.
func TestStoreThatCannotAdd(t *testing.T) {
	st := store.NewMemory()
	create(t, st, Definition{Mode: Strict})
	expect(t, open(t, st, nil), 1, 2, 3)
}
