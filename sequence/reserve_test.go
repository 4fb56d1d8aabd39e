package sequence

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// reserve takes a row and fails the test if it is not the one wanted.
func reserve(t testing.TB, s *Sequence, n, first int64) {
	t.Helper()
	r, err := s.Reserve(t.Context(), n)
	if err != nil || r.First != first || r.Count != n || r.Last() != first+(n-1)*r.Step {
		t.Fatalf("%+v, %v, want %d from %d on", r, err, n, first)
	}
}

// A row follows the numbers before it, over the end of a range where the
// next one continues it.
func TestRowGoesOverRanges(t *testing.T) {
	for _, mode := range []Mode{Fast, Dense, Strict} {
		synctest.Test(t, func(t *testing.T) {
			_, s := made(t, Definition{Mode: mode, Start: new(int64(10)), Step: -2, MinRange: 10, MaxRange: 10})
			number := func(ordinal int64) int64 { return 10 - 2*ordinal }
			reserve(t, s, 3, number(0))
			synctest.Wait()
			reserve(t, s, 9, number(3))
			synctest.Wait()
			expect(t, s, number(12))
			reserve(t, s, 100, number(13))
			synctest.Wait()
			reserve(t, s, 1, number(113))
		})
	}
}

// Fill gives all that is at hand before it waits for a store.
func TestFillGivesTheRangeAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := made(t, Definition{MinRange: 10, MaxRange: 10})
		expect(t, s, 1)
		synctest.Wait()
		st.fail(func(op string) error { return errFault }, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if n, err := s.Fill(ctx, make([]int64, 40)); n != 19 || err == nil {
			t.Errorf("%d numbers, %v", n, err)
		}
		st.fail(nil, nil)
	})
}

// Where the next range does not continue the one in use, its rest is
// dropped, so that numbers rise.
func TestRowThatDoesNotFitDropsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := made(t, Definition{MinRange: 10, MaxRange: 10})
		other := open(t, st, &Options{Exact: true})
		entered, through := gate(st)
		go func() {
			<-entered // the first range
			through <- struct{}{}
			<-entered // the one ahead: the other program comes first
			if _, _, err := store.Add(t.Context(), st.Store, addition(st, t, 5)); err != nil {
				t.Error(err)
			}
			through <- struct{}{}
			st.fail(nil, nil)
		}()
		reserve(t, s, 3, 1)
		synctest.Wait()
		st.fail(nil, nil)
		reserve(t, s, 8, 16) // 4 to 10 are dropped
		expect(t, s, 24)
		synctest.Wait()
		expect(t, other, 36)
		synctest.Wait()
		reserve(t, s, 11, 25) // with the range that continues
		expect(t, s, 37)
	})
}

// A row that just fits is taken of the range in use, whatever follows.
func TestRowThatJustFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := made(t, Definition{MinRange: 10, MaxRange: 10})
		other := open(t, st, &Options{Exact: true})
		st.fail(func(op string) error { // another program comes before the range ahead
			if r := st.record(t, name); op == "add" && r.From == 10 {
				_, _, err := store.Add(t.Context(), st.Store, addition(st, t, 5))
				return err
			}
			return nil
		}, nil)
		reserve(t, s, 3, 1)
		synctest.Wait()
		st.fail(nil, nil)
		reserve(t, s, 7, 4)
		reserve(t, s, 2, 16)
		synctest.Wait()
		expect(t, other, 36)
	})
}

// A call that comes to the slow path after another has set the next range
// takes from that range.
func TestRangeThatSomebodyElseSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := made(t, Definition{MinRange: 10, MaxRange: 10})
		expect(t, s, 1)
		synctest.Wait()
		for _, row := range []bool{true, false} {
			s.mu.Lock()
			was := s.cur.Load()
			got, ok := s.atHand(2, row)
			if !ok || got.len() != 2 || s.cur.Load() != was || s.next.len() != 10 {
				t.Errorf("%+v, %t; %+v ahead", got, ok, s.next)
			}
			s.mu.Unlock()
		}
		expect(t, s, 6)
	})
}

func TestRowsThatAreRefused(t *testing.T) {
	st, s := made(t, Definition{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // for nothing is waited
	for _, n := range []int64{0, -1, math.MinInt64, 1_000_001, math.MaxInt64} {
		wantErr(t, errOf(s.Reserve(ctx, n)), lease.ErrInvalid, "%d", n)
	}
	st.count("add")
	reserve(t, s, 1_000_000, 1)
	s.Close()
	if n := st.count("add"); n > 2 { // one for the row, and perhaps one for the range ahead
		t.Errorf("%d takes for one row", n)
	}
}

func TestFill(t *testing.T) {
	for _, mode := range []Mode{Fast, Dense, Strict} {
		st, s := made(t, Definition{
			Mode: mode, Start: new(int64(5)), Step: 3, Max: new(int64(304)), MinRange: 7, MaxRange: 7,
		})
		var all, want []int64
		for _, n := range []int{0, 1, 10, 50, 30} {
			dst := make([]int64, n)
			if got, err := s.Fill(t.Context(), dst); err != nil || got != n {
				t.Fatalf("%s: %d of %d, %v", mode, got, n, err)
			}
			all = append(all, dst...)
		}
		dst := make([]int64, 50)
		n, err := s.Fill(t.Context(), dst)
		wantErr(t, err, ErrEnded, "%s", mode)
		all = append(all, dst[:n]...)
		for i := range int64(100) {
			want = append(want, 5+3*i)
		}
		if !slices.Equal(all, want) {
			t.Errorf("%s: %v", mode, all)
		}
		if r := st.record(t, name); r.From != 100 {
			t.Errorf("%s: the store is at %d", mode, r.From)
		}
	}
	st, s := made(t, Definition{Mode: Strict})
	dst := make([]int64, 2_500_000)
	if n, err := s.Fill(t.Context(), dst); err != nil || n != len(dst) || dst[n-1] != int64(n) {
		t.Errorf("%d, %v", n, err)
	}
	if n := st.count("add"); n != 3 { // one take of a million at most
		t.Errorf("%d takes", n)
	}
}

// The numbers of a handle rise, and blocks grow, but only in fast mode.
func TestLocal(t *testing.T) {
	_, s := made(t, Definition{Start: new(int64(5)), Step: -2})
	a, b := s.Local(), s.Local()
	var l ledger
	last := int64(6)
	for range 10_000 {
		n, err := a.Next(t.Context())
		if err != nil || n >= last {
			t.Fatalf("%d after %d, %v", n, last, err)
		}
		last = n
		l.add(t, n)
		n = must(b.Next(t.Context()))
		l.add(t, n)
		n = must(s.Next(t.Context()))
		l.add(t, n)
	}
	if a.size != maxBlock {
		t.Errorf("blocks are of %d numbers", a.size)
	}
	blocks := s.Local()
	for _, size := range []int64{1, 2, 2, 4, 4, 4, 4, 8} {
		if _, err := blocks.Next(t.Context()); err != nil || blocks.size != size {
			t.Errorf("a block of %d numbers, %v, want %d", blocks.size, err, size)
		}
	}
	for _, mode := range []Mode{Dense, Strict} {
		_, s := made(t, Definition{Mode: mode})
		l, ctx := s.Local(), t.Context()
		for n := int64(1); n < 50; n += 2 {
			if got, err := l.Next(ctx); err != nil || got != n {
				t.Fatalf("%s: %d, %v, want %d", mode, got, err, n)
			}
			expect(t, s, n+1)
		}
	}
	st, _ := made(t, Definition{})
	exact := open(t, st, &Options{Exact: true})
	handle := exact.Local()
	for want := int64(1); want < 9; want++ {
		if got, err := handle.Next(t.Context()); err != nil || got != want {
			t.Fatalf("exact: %d, %v, want %d", got, err, want)
		}
	}
	if r := st.record(t, name); r.From != 8 {
		t.Errorf("the store is at %d", r.From)
	}
	s.Close()
	for err := error(nil); err == nil; { // what it holds stays good
		_, err = a.Next(t.Context())
		if err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}

// No caller gets an empty range: a handle would take another's number for
// its own.
func TestServe(t *testing.T) {
	waits := func(n int64, row bool) *waiter { return &waiter{n: n, row: row, done: make(chan struct{})} }
	part, row, rest, late := waits(3, false), waits(9, true), waits(9, false), waits(1, false)
	unserved, left := serve([]*waiter{part, row, rest, late}, span{0, 10, 15})
	if len(unserved) != 2 || unserved[0] != row || unserved[1] != late || left.len() != 0 {
		t.Errorf("%d are not served, %+v is left", len(unserved), left)
	}
	if part.got != (span{0, 10, 13}) || rest.got != (span{0, 13, 15}) {
		t.Errorf("%+v and %+v", part.got, rest.got)
	}
}
