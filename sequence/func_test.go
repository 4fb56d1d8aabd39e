package sequence

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// keeper is a program that keeps a sequence for others: 5, 8, 11, …
type keeper struct {
	sync.Mutex
	next  int64
	left  int64
	most  int64   // at once
	asked []int64 // by each call
	err   error
	wrong Range // added to what it answers
}

// set changes what the program does from now on.
func (k *keeper) set(change func()) {
	k.Lock()
	defer k.Unlock()
	change()
}

func (k *keeper) take(_ context.Context, n int64) (Range, int64, error) {
	k.Lock()
	defer k.Unlock()
	k.asked = append(k.asked, n)
	if k.err != nil {
		return Range{}, 0, k.err
	}
	if n > k.most {
		return Range{}, 0, errFault
	}
	first := k.next
	k.next += 3 * n
	k.left -= n
	return Range{first + k.wrong.First, 3 + k.wrong.Step, n + k.wrong.Count}, k.left, nil
}

func (k *keeper) open(t *testing.T, d Definition, o *Options) *Sequence {
	t.Helper()
	k.next, k.left, k.most = 5, 1_000_000, 1_000_000
	d.Start, d.Step, d.MinRange = new(int64(5)), 3, 1
	s := must(OpenFunc(name, d, k.take, o))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Numbers rise, ranges fit their pace and what is left, and callers who
// want few leave no gap.
func TestFuncTakesRangesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{}
		s := k.open(t, Definition{}, &Options{})
		use := func(lasts time.Duration) {
			p := s.cur.Load()
			for i := 0; p == s.cur.Load(); i++ {
				if n, err := s.Next(t.Context()); err != nil || i > 100 {
					t.Fatal(n, err)
				}
				synctest.Wait() // what is taken ahead arrives before the next number
			}
			time.Sleep(lasts)
		}
		use(0)
		if !slices.Equal(k.asked, []int64{1}) {
			t.Fatalf("for one number it asked %v", k.asked)
		}
		k.set(func() { k.left = 64 * 8 })
		for _, lasts := range []time.Duration{0, 10 * time.Second, time.Minute, time.Minute + 1, 0, 0, 0, 0} {
			use(lasts)
		}
		if want := []int64{1, 1, 2, 4, 4, 4, 2, 4, 7, 7}; !slices.Equal(k.asked, want) {
			t.Errorf("it asked for %v, want %v", k.asked, want)
		}
		k.set(func() { k.most, k.asked = 3, nil })
		for range 2 {
			use(0)
		}
		if want := []int64{7, 1, 2}; !slices.Equal(k.asked, want) {
			t.Errorf("of one that gives few at once it asked for %v, want %v", k.asked, want)
		}
	})
}

// Of modes whose numbers may not wait in memory, callers get what they ask
// for, and a take serves as many of them as fit.
func TestFuncTakesNothingAhead(t *testing.T) {
	for _, c := range []struct {
		mode Mode
		o    *Options
	}{{Dense, nil}, {Strict, nil}, {Fast, &Options{Exact: true}}} {
		synctest.Test(t, func(t *testing.T) {
			k := &keeper{}
			s := k.open(t, Definition{Mode: c.mode}, c.o)
			k.set(func() { k.err = ErrNotReady })
			firsts := make(chan int64, 3)
			for range 3 {
				go func() {
					r, err := s.Reserve(t.Context(), 400_000)
					if err != nil || r.Count != 400_000 || r.Step != 3 {
						t.Errorf("%+v, %v", r, err)
					}
					firsts <- r.First
				}()
				synctest.Wait()
			}
			k.set(func() { k.err, k.asked = nil, nil })
			time.Sleep(time.Minute)
			synctest.Wait()
			if want := []int64{800_000, 400_000}; !slices.Equal(k.asked, want) {
				t.Errorf("%s: it asked for %v, want %v", c.mode, k.asked, want)
			}
			if a, b, c := <-firsts, <-firsts, <-firsts; a+b+c != 3*5+3*3*400_000 {
				t.Errorf("ranges from %d, %d and %d", a, b, c)
			}
			wantErr(t, errOf(s.TryNext()), ErrNotReady, "")
			k.set(func() { k.asked, k.left = nil, 1_000_000 })
			for range 20 {
				if n, err := s.Next(t.Context()); err != nil {
					t.Fatal(n, err)
				}
				synctest.Wait()
			}
			if !slices.Equal(k.asked, slices.Repeat([]int64{1}, 20)) {
				t.Errorf("%s: for 20 numbers it asked for %v", c.mode, k.asked)
			}
		})
	}
}

// Where so many numbers may not be had at once, fewer are asked for, once.
func TestFuncAsksForFewer(t *testing.T) {
	for _, c := range []struct {
		err      error
		least, n int64
		want     []int64
		size     int64
	}{
		{errFault, 1, 8, []int64{8, 1}, 2},
		{errFault, 2, 16, []int64{16, 2}, 3},
		{errFault, 8, 8, []int64{8}, 3},
		{ErrNotReady, 1, 8, []int64{8}, 3},
	} {
		k := &keeper{}
		s := k.open(t, Definition{}, nil)
		k.err, s.size = c.err, 3
		got, err := s.from.take(t.Context(), c.least, c.n)
		if !errors.Is(err, c.err) || !slices.Equal(k.asked, c.want) {
			t.Errorf("%+v: %+v, %v; it asked for %v", c, got, err, k.asked)
		}
	}
	for _, least := range []int64{1, 5} { // of a call that does not wait, and of one for a row
		k := &keeper{}
		s := k.open(t, Definition{}, nil)
		k.most, s.size = least, 8
		if least == 1 {
			_, _ = s.TryNext()
			settle(t, s)
		} else {
			must(s.Reserve(t.Context(), least))
		}
		if k.set(func() {}); len(k.asked) < 2 || k.asked[1] != least {
			t.Errorf("it asked for %v, and not for %d", k.asked, least)
		}
	}
}

// What waiting mends is waited out; every other error goes to the callers,
// and the next call asks again. Numbers that were not asked for are given
// to no caller.
func TestFuncErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{err: ErrNotReady}
		s := k.open(t, Definition{}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNotReady) {
			t.Error(err)
		}
		k.set(func() { k.err = errFault })
		time.Sleep(2 * time.Second)
		_ = refused(t, s, errFault)
		k.set(func() { k.err = nil })
		for _, wrong := range []Range{{First: 1}, {Step: 1}, {Count: 1}, {Count: -1}} {
			k.set(func() { k.wrong = wrong })
			says(t, errOf(s.Next(t.Context())), "not those of the request", "%+v", wrong)
		}
		k.set(func() { k.wrong, k.next, k.left = Range{}, 50, 1 })
		expect(t, s, 50)
		k.set(func() { k.err = ErrEnded })
		_ = refused(t, s, ErrEnded)
		if got := s.Status(); got.Left != 0 {
			t.Errorf("%+v", got)
		}
	})
	for what, d := range map[string]Definition{"dated": {Pattern: "{year}-{n}"}, "wrong": {Mode: "slow"}} {
		wantErr(t, errOf(OpenFunc(name, d, (&keeper{}).take, nil)), lease.ErrInvalid, "%s", what)
	}
}
