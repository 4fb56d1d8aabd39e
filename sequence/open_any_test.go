package sequence

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"

	"github.com/snowfence/snowfence/internal/tests"
)

func TestOpenAnyRefuses(t *testing.T) {
	one, other := newStores(2), newStores(2)
	createAny(t, 4, Definition{}, one...)
	createAny(t, 5, Definition{}, other...)
	above, strict, dated := newShaky(), newShaky(), newShaky()
	create(t, above, Definition{Start: new(int64(4002)), Step: 4})
	create(t, strict, Definition{Start: new(int64(3)), Step: 4, Mode: Strict})
	create(t, dated, Definition{Pattern: "{year}-{n}", Start: new(int64(3)), Step: 4})
	for _, c := range []struct {
		stores []*shaky
		o      *Options
		kind   error
		say    string
	}{
		{nil, nil, lease.ErrInvalid, "no store"},
		{one, &Options{Exact: true}, lease.ErrInvalid, "Exact"},
		{[]*shaky{one[0], other[1]}, nil, lease.ErrRefused, "step 5"},
		{[]*shaky{one[0], one[1], above}, nil, lease.ErrRefused, "the same numbers"},
		{[]*shaky{one[0], one[0]}, nil, lease.ErrRefused, "the same numbers"},
		{[]*shaky{one[0], strict}, nil, lease.ErrRefused, "strict"},
		{[]*shaky{one[0], dated}, nil, lease.ErrRefused, "dated"},
		{[]*shaky{newShaky()}, nil, ErrNoSequence, "create it"},
	} {
		a, err := OpenAny(t.Context(), stores(c.stores...), name, c.o)
		tests.Refuses(t, err, c.kind, c.say)
		if a != nil {
			a.Close()
		}
		for _, st := range c.stores {
			if n := st.pinned(); n != 0 {
				t.Errorf("%d pins are left", n)
			}
		}
	}
}

// Two courses meet exactly if a number is in both.
func TestCoursesThatMeet(t *testing.T) {
	const far = math.MaxInt64
	for _, c := range []struct {
		a, b, step int64
		want       bool
	}{
		{1, 2, 5, false},
		{1, 6, 5, true},
		{6, 1, 5, true},
		{-1, 4, 5, true},
		{-1, 3, 5, false},
		{7, 7, 5, true},
		{-far, far, 2, true},
		{-far, far - 1, 2, false},
		{5, 4, 1, true},
		{9, 3, -3, true},
		{9, 4, -3, false},
		{math.MinInt64, 0, math.MinInt64, true},
		{math.MinInt64, 1, math.MinInt64, false},
	} {
		if got := (course{start: c.a, step: c.step}).meets(course{start: c.b, step: c.step}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Stores that do not answer in the beginning are used when they do.
func TestOpenAnyWithoutSomeStores(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			all := newStores(3)
			createAny(t, 5, Definition{Mode: Dense}, all...)
			for _, st := range all[:2] {
				st.fail(func(string) error {
					if silent {
						time.Sleep(time.Minute)
					}
					return errFault
				}, nil)
			}
			began := time.Now()
			a := openAny(t, all...)
			if took := time.Since(began); took != 0 && !silent || silent && took != latecomers {
				t.Errorf("opened after %v", took)
			}
			expect(t, a, 3)
			all[0].fail(nil, nil)
			all[2].fail(always("add", errFault), nil)
			time.Sleep(2 * time.Minute)
			seen := map[int64]bool{}
			for range 2010 {
				n := must(a.Next(t.Context()))
				seen[n%5] = true
			}
			if !seen[1] || seen[2] {
				t.Errorf("classes %v", seen)
			}
			a.Close()
			time.Sleep(time.Hour) // silent stores end
		})
	}
}

// Without any store that answers, OpenAny says so at once, or when its ctx
// ends.
func TestOpenAnyWithoutStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newStores(2)
		createAny(t, 5, Definition{}, all...)
		for _, st := range all {
			st.fail(always("get", errFault), nil)
		}
		wantErr(t, errOf(OpenAny(t.Context(), stores(all...), name, nil)), errFault, "")
		for _, st := range all {
			st.fail(func(string) error { time.Sleep(time.Hour); return nil }, nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, errOf(OpenAny(ctx, stores(all...), name, nil)), context.DeadlineExceeded, "")
		time.Sleep(9 * time.Hour)
		for _, st := range all {
			if n := st.pinned(); n != 0 {
				t.Errorf("%d pins are left", n)
			}
		}
	})
}

// A store that answers late, and does not belong to the others, is left
// out; of two stores with the same numbers both are.
func TestLateStoreThatDoesNotBelong(t *testing.T) {
	for _, twin := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			all := newStores(3)
			createAny(t, 5, Definition{}, all[0], all[1])
			createAny(t, map[bool]int64{false: 7, true: 5}[twin], Definition{}, all[2])
			all[2].fail(always("get", errFault), nil)
			a := openAny(t, all...)
			all[2].fail(nil, nil)
			adds := 0
			all[0].fail(func(op string) error { // the range ahead is asked of the others
				if op == "add" {
					adds++
				}
				return map[bool]error{true: errFault}[adds > 1]
			}, nil)
			all[1].fail(always("add", errFault), nil)
			expect(t, a, 1)
			synctest.Wait()
			all[0].fail(nil, nil)
			all[1].fail(nil, nil)
			time.Sleep(time.Minute)
			seen := map[int64]int{}
			for range 3000 {
				n := must(a.Next(t.Context()))
				seen[n%5]++
			}
			if seen[1]+seen[2] != 3000 || twin && seen[1] > 0 || all[2].count("add") != 0 {
				t.Errorf("twin %t: numbers by their remainder: %v", twin, seen)
			}
			err, _ := a.from.(*several).reasonWithout()
			tests.Refuses(t, err, lease.ErrRefused, "store 3 of 3")
			a.Close()
			synctest.Wait()
			for i, st := range all {
				if n := st.pinned(); n != 0 {
					t.Errorf("store %d has %d pins", i, n)
				}
			}
		})
	}
}

// A store that is found to be a copy while it is asked gives no numbers
// when it answers.
func TestLateAnswerOfACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newStores(2)
		createAny(t, 5, Definition{}, all[0])
		createAny(t, 5, Definition{}, all[1])
		all[1].fail(always("get", errFault), nil)
		a := openAny(t, all...)
		defer a.Close()
		all[1].fail(nil, nil)
		all[0].fail(func(string) error { time.Sleep(2 * hedge); return nil }, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 {
			wantErr(t, errOf(a.Next(ctx)), lease.ErrRefused, "")
			time.Sleep(time.Second) // the first one answers
		}
	})
}

// Nor are its numbers given out that were on their way.
func TestTakeOfACopyIsDropped(t *testing.T) {
	_, s := trio(t, Definition{})
	a := s.from.(*several)
	got := must(a.take(t.Context(), 1, 10))
	s.mu.Lock()
	defer s.mu.Unlock()
	a.members[0].out = true
	if s.endStep(&step{n: 10, got: got}); s.next.len() > 0 || s.trouble == nil {
		t.Errorf("%+v, %v", s.next, s.trouble)
	}
}

// A range of one store is no continuation of another store's, wherever it
// begins.
func TestRangeOfAnotherStoreFollows(t *testing.T) {
	all, s := trio(t, Definition{MinRange: 10, MaxRange: 10})
	other := open(t, all[1], nil)
	reserve(t, other, 10, 2)
	settle(t, other) // up to ordinal 20
	expect(t, s, 1)
	settle(t, s)
	all[0].fail(always("add", errFault), nil)
	reserve(t, s, 16, 6) // 3 are left, up to ordinal 20
	settle(t, s)
	reserve(t, s, 8, 102)
}

// A store that was left out is in no program's way.
func TestStoreBesideOneThatIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newStores(3)
		createAny(t, 5, Definition{MinRange: 2, MaxRange: 2}, all[0], newShaky(), all[2])
		createAny(t, 7, Definition{}, all[1])
		all[1].fail(always("get", errFault), nil)
		all[2].fail(always("get", errFault), nil)
		var log bytes.Buffer
		o := &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		a := must(OpenAny(t.Context(), stores(all...), name, o))
		defer a.Close()
		all[0].fail(always("add", errFault), nil)
		all[1].fail(nil, nil)
		go func() {
			time.Sleep(time.Minute)
			all[2].fail(nil, nil)
		}()
		expect(t, a, 3)
		for i := range all { // not at each attempt
			if n := strings.Count(log.String(), fmt.Sprintf("store=%d", i+1)); n != 1 {
				t.Errorf("store %d is in the log %d times:\n%s", i+1, n, &log)
			}
		}
	})
}

// A program that knows a sequence which was lost takes nothing of another
// one that the store has now.
func TestSequenceThatWasReplaced(t *testing.T) {
	for _, now := range []Definition{{Start: new(int64(3)), Step: 5}, {Start: new(int64(1)), Step: 7}} {
		synctest.Test(t, func(t *testing.T) {
			all := newStores(2)
			createAny(t, 5, Definition{}, all...)
			a := openAny(t, all[0])
			expect(t, a, 1)
			synctest.Wait()
			was := all[0].record(t, name)
			all[0].empty()
			time.Sleep(time.Millisecond)
			create(t, all[0], now)
			all[0].become(a.from.(*several).members[0].lastState.Identity)
			r := all[0].record(t, name) // as others left it
			r.From, r.Revision, r.Nonce, r.Generation = was.From+5000, was.Revision+5, "later", was.Generation+1
			all[0].put(t, r)
			var err error
			for range 2100 {
				if _, err = a.Next(t.Context()); err != nil {
					break
				}
			}
			wantErr(t, err, lease.ErrRefused, "")
		})
	}
}
