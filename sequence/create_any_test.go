package sequence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/snowfence/snowfence/lease"
)

// several returns stores that know nothing of each other.
func several(n int) (all []*shaky) {
	for range n {
		all = append(all, newShaky())
	}
	return all
}

func stores(all ...*shaky) (out []lease.Store) {
	for _, st := range all {
		out = append(out, st)
	}
	return out
}

func createAny(t testing.TB, classes int64, all ...*shaky) {
	t.Helper()
	if err := CreateAny(t.Context(), stores(all...), name, Definition{}, classes); err != nil {
		t.Fatal(err)
	}
}

// parts returns what each store has, "" where it has nothing.
func parts(t testing.TB, all ...*shaky) (out []string) {
	t.Helper()
	names := map[string]string{"": ""}
	for _, st := range all {
		s, err := read(t.Context(), st.Store, name)
		switch {
		case errors.Is(err, ErrNoSequence):
			out = append(out, "")
			continue
		case err != nil:
			t.Fatal(err)
		}
		if names[s.Set] == "" {
			names[s.Set] = string('A' + rune(len(names)-1))
		}
		text := fmt.Sprintf("%s%d", names[s.Set], s.Class)
		if s.Pending {
			text += "?"
		}
		if s.Deleted {
			text += "-"
		}
		out = append(out, text)
	}
	return out
}

func expectParts(t testing.TB, all []*shaky, want ...string) {
	t.Helper()
	if got := parts(t, all...); !slices.Equal(got, want) {
		t.Fatalf("the stores have %q, want %q", got, want)
	}
}

func TestCreateAny(t *testing.T) {
	all := several(3)
	for range 2 { // repeated alike it changes nothing
		createAny(t, 5, all...)
		expectParts(t, all, "A0", "A1", "A2")
	}
	for i, st := range all {
		if n := st.count("swap"); n != 2 {
			t.Errorf("store %d was written %d times", i, n)
		}
		info, err := Show(t.Context(), st, name)
		if err != nil || info.Class != int64(i) || info.Classes != 5 || info.Pending || info.Next != int64(i+1) {
			t.Errorf("%+v, %v", info, err)
		}
	}
	slices.Reverse(all)
	createAny(t, 5, all...)
	expectParts(t, all, "A2", "A1", "A0")
}

func TestCreateAnyRefuses(t *testing.T) {
	two := several(2)
	for _, c := range []struct {
		stores  []lease.Store
		name    string
		d       Definition
		classes int64
		say     string
	}{
		{stores(two...), name, Definition{Mode: Strict}, 2, "strict"},
		{stores(two...), name, Definition{Pattern: "{year}-{n}"}, 2, "pattern"},
		{stores(two...), name, Definition{}, 1, "2 stores and 1 classes"},
		{nil, name, Definition{}, 2, "0 stores"},
		{stores(two...), name, Definition{}, 1001, "1001"},
		{stores(two...), name, Definition{Max: new(int64(2))}, 3, "up to max are 2 numbers"},
		{stores(two...), name, Definition{MinRange: -1}, 2, "ranges"},
		{stores(two...), "a b", Definition{}, 2, "a b"},
		{stores(two[0], two[0]), name, Definition{}, 2, "store 1 and store 2 are the same"},
	} {
		err := CreateAny(t.Context(), c.stores, c.name, c.d, c.classes)
		if !errors.Is(err, lease.ErrInvalid) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%+v: %v, want it to say %q", c, err, c.say)
		}
	}
}

func TestCreateAnyOfAnother(t *testing.T) {
	all := several(4)
	create(t, all[3], Definition{})
	createAny(t, 5, all[:3]...)
	for i, f := range []func() error{
		func() error { return CreateAny(t.Context(), stores(all[:3]...), name, Definition{}, 6) },
		func() error { return CreateAny(t.Context(), stores(all[2]), name, Definition{Step: 2}, 5) },
		func() error { return CreateAny(t.Context(), stores(all...), name, Definition{}, 5) },
		func() error { return CreateAny(t.Context(), stores(all[3]), name, Definition{}, 5) },
		func() error { return Create(t.Context(), all[1], name, Definition{}) },
	} {
		if err := f(); !errors.Is(err, lease.ErrExists) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// A creation that is cut off at any of its calls to the stores, before it or after, is ended by the
// next one. No part becomes active before all stores have acknowledged theirs.
func TestCreateAnyAfterACrash(t *testing.T) {
	for _, late := range []bool{false, true} {
		for at := 1; ; at++ {
			done := false
			synctest.Test(t, func(t *testing.T) {
				all := several(3)
				calls := 0
				var mu sync.Mutex
				crash := func(string) error {
					mu.Lock()
					defer mu.Unlock()
					if calls++; calls >= at { // and nothing more is done
						return errFault
					}
					return nil
				}
				before := func(string) error {
					mu.Lock()
					defer mu.Unlock()
					if calls >= at {
						return errFault
					}
					return nil
				}
				for _, st := range all {
					if late {
						st.fail(before, crash)
					} else {
						st.fail(crash, nil)
					}
				}
				err := CreateAny(t.Context(), stores(all...), name, Definition{}, 5)
				if done = err == nil; !done && !errors.Is(err, errFault) {
					t.Fatal(err)
				}
				got := parts(t, all...)
				active := slices.ContainsFunc(got, func(p string) bool { return p != "" && !strings.HasSuffix(p, "?") })
				if active && (slices.Contains(got, "") || strings.Contains(strings.Join(got, ""), "B")) {
					t.Errorf("cut off at call %d, after it %t, the stores have %q", at, late, got)
				}
				for _, st := range all {
					st.fail(nil, nil)
				}
				createAny(t, 5, all...)
				expectParts(t, all, "A0", "A1", "A2")
			})
			if done {
				if at < 12 {
					t.Errorf("only %d calls", at)
				}
				break
			}
		}
	}
}

// Programs that create it at the same time make one set, also where they know the stores in
// another order. No class of a set is in two stores, not even for a moment.
func TestCreateAnyAtTheSameTime(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			all := several(3)
			var mu sync.Mutex
			where := map[string]*shaky{} // of each class of each set
			var wg sync.WaitGroup
			for _, st := range all {
				st.fail(nil, func(op string) error {
					if op == "swap" {
						s, err := read(t.Context(), st.Store, name)
						mu.Lock()
						class := fmt.Sprint(s.Set, s.Class)
						if other := where[class]; err != nil || other != nil && other != st {
							t.Errorf("class %d is in two stores (%v)", s.Class, err)
						}
						where[class] = st
						mu.Unlock()
					}
					pause(r, &mu)
					return nil
				})
			}
			for range 4 {
				mine := slices.Clone(all)
				mu.Lock()
				if seed%2 == 1 {
					r.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
				}
				mu.Unlock()
				wg.Go(func() {
					err := CreateAny(t.Context(), stores(mine...), name, Definition{}, 12)
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			got := parts(t, all...)
			if joined := strings.Join(got, ""); strings.ContainsAny(joined, "B?") {
				t.Errorf("the stores have %q", got)
			}
			if slices.Sort(got); len(slices.Compact(got)) != 3 {
				t.Errorf("the stores have %q", got)
			}
		})
	}
}
