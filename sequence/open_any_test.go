package sequence

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease"
)

func TestOpenAnyRefuses(t *testing.T) {
	one, other := several(2), several(2)
	createAny(t, 4, one...)
	createAny(t, 4, other...)
	copied := newShaky()
	createAny(t, 4, copied)
	r := one[1].record(t, name)
	r.Data = strings.Replace(r.Data, `"identity":"`, `"after_failover":-1,"identity":"`, 1)
	copied.put(t, r)
	plain := newShaky()
	create(t, plain, Definition{})
	for _, c := range []struct {
		stores []*shaky
		o      *Options
		kind   error
		say    string
	}{
		{nil, nil, lease.ErrInvalid, "no store"},
		{one, &Options{Exact: true}, lease.ErrInvalid, "Exact"},
		{[]*shaky{one[0], other[1]}, nil, lease.ErrRefused, "another set"},
		{[]*shaky{one[0], one[1], copied}, nil, lease.ErrRefused, "both have class 1"},
		{[]*shaky{one[0], one[0]}, nil, lease.ErrRefused, "both have class 0"},
		{[]*shaky{newShaky()}, nil, ErrNoSequence, "create it"},
		{[]*shaky{plain}, nil, lease.ErrRefused, "of this store alone"},
	} {
		a, err := OpenAny(t.Context(), stores(c.stores...), name, c.o)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%v, want it to say %q", err, c.say)
		}
		if a != nil {
			a.Close()
		}
		for _, st := range c.stores {
			if n := st.pinned(); n != 0 {
				t.Errorf("%d pins are left", n)
			}
		}
	}
	if _, err := Open(t.Context(), one[0], name, nil); !errors.Is(err, lease.ErrRefused) ||
		!strings.Contains(err.Error(), "OpenAny") {
		t.Errorf("%v", err)
	}
}

// A part that not all stores have acknowledged gives no numbers, whatever the others do.
func TestOpenAnyOfAnUnfinishedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := several(2)
		all[0].fail(nil, first("swap", errFault))
		if err := CreateAny(t.Context(), stores(all...), name, Definition{}, 4); !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		expectParts(t, all, "A0?", "")
		_, err := OpenAny(t.Context(), stores(all...), name, nil)
		if !errors.Is(err, ErrNoSequence) || !strings.Contains(err.Error(), "repeat CreateAny") {
			t.Errorf("%v", err)
		}
		createAny(t, 4, all...)
		expectAny(t, openAny(t, all...), 1)
	})
}

// Stores that do not answer in the beginning are used when they do.
func TestOpenAnyWithoutSomeStores(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			all := several(3)
			createAny(t, 5, all...)
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
			expectAny(t, a, 3)
			all[0].fail(nil, nil)
			all[2].fail(always("add", errFault), nil)
			time.Sleep(2 * time.Minute)
			seen := map[int64]bool{}
			for range 2010 {
				n, err := a.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
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

// Without any store that answers, OpenAny says so at once, or when its ctx ends.
func TestOpenAnyWithoutStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := several(2)
		createAny(t, 5, all...)
		for _, st := range all {
			st.fail(always("get", errFault), nil)
		}
		if _, err := OpenAny(t.Context(), stores(all...), name, nil); !errors.Is(err, errFault) {
			t.Errorf("%v", err)
		}
		for _, st := range all {
			st.fail(func(string) error { time.Sleep(time.Hour); return nil }, nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := OpenAny(ctx, stores(all...), name, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.Sleep(9 * time.Hour)
		for _, st := range all {
			if n := st.pinned(); n != 0 {
				t.Errorf("%d pins are left", n)
			}
		}
	})
}

// A store that answers late, and does not belong to the others, is left out; of two stores of one
// class both are.
func TestLateStoreThatDoesNotBelong(t *testing.T) {
	for _, twin := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			all := several(3)
			createAny(t, 5, all[0], all[1])
			createAny(t, 5, all[2])
			if twin {
				r := all[0].record(t, name)
				all[2].put(t, r)
				id, _ := all[0].Store.Identity(t.Context(), r.Namespace)
				all[2].become(id)
			}
			all[2].fail(always("get", errFault), nil)
			a := openAny(t, all...)
			expectAny(t, a, 1)
			synctest.Wait()
			all[2].fail(nil, nil)
			time.Sleep(time.Minute)
			seen := map[int64]int{}
			for range 3000 {
				n, err := a.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				seen[n%5]++
			}
			if want := map[bool]int{false: 3000, true: 0}[twin]; seen[1] != want || all[2].count("add") != 0 {
				t.Errorf("%d numbers of class 0, want %d", seen[1], want)
			}
			if err := a.trouble(); !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "store 3 of 3") {
				t.Errorf("%v", err)
			}
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

// A program that knows a part which was lost takes nothing of the one that the store has now.
func TestPartThatWasReplaced(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace func(t *testing.T, all []*shaky)
	}{
		{"another class", func(t *testing.T, all []*shaky) { createAny(t, 5, all...) }},
		{"another set", func(t *testing.T, all []*shaky) { createAny(t, 5, all[0]) }},
		{"no part", func(t *testing.T, all []*shaky) { create(t, all[0], Definition{}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := several(2)
				createAny(t, 5, all...)
				a := openAny(t, all[0])
				expectAny(t, a, 1)
				synctest.Wait()
				was := all[0].record(t, name)
				all[0].empty()
				time.Sleep(time.Millisecond)
				c.replace(t, all)
				all[0].become(a.members[0].seq.known.Identity)
				r := all[0].record(t, name) // as others left it
				r.From, r.Revision, r.Nonce = was.From+5000, was.Revision+5, "later"
				all[0].put(t, r)
				var err error
				for range 2100 {
					if _, err = a.Next(t.Context()); err != nil {
						break
					}
				}
				if !errors.Is(err, lease.ErrRefused) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// Without an answer OpenAny waits as long as its ctx, and longer than for latecomers.
func TestOpenAnyOfSlowStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := several(2)
		createAny(t, 5, all...)
		for _, st := range all {
			st.fail(func(string) error { time.Sleep(latecomers); return nil }, nil)
		}
		a := openAny(t, all...)
		for _, st := range all {
			st.fail(nil, nil)
		}
		expectAny(t, a, 1)
	})
}
