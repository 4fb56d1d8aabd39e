package sequence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

// trio returns three stores whose sequences have steps of 5, and what a
// program takes of it.
func trio(t testing.TB, d Definition) ([]*shaky, *Sequence) {
	t.Helper()
	all := newStores(3)
	createAny(t, 5, d, all...)
	return all, openAny(t, all...)
}

// Whatever store fails, and in which way, calls go on with the others.
func TestAnyGoesOnWithAnotherStore(t *testing.T) {
	for _, c := range []struct {
		name string
		fail func(t *testing.T, st *shaky)
	}{
		{"refused", func(t *testing.T, st *shaky) { st.fail(always("add", errFault), nil) }},
		{"silent", func(t *testing.T, st *shaky) {
			st.fail(func(string) error { time.Sleep(time.Minute); return errFault }, nil)
		}},
		{"rolled back", func(t *testing.T, st *shaky) { st.become("another") }},
		{"deleted", func(t *testing.T, st *shaky) {
			noError(t, Delete(t.Context(), st, name))
		}},
		{"empty", func(t *testing.T, st *shaky) { st.empty() }},
		{"replaced", func(t *testing.T, st *shaky) { st.fail(always("add", store.ErrReplaced), nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, a := trio(t, Definition{MinRange: 1, MaxRange: 1})
				expect(t, a, 1)
				synctest.Wait()
				c.fail(t, all[0])
				began := time.Now()
				expect(t, a, 6) // it was taken ahead
				for i := range 100 {
					n, err := a.Next(t.Context())
					if err != nil || n%5 == 1 || n%5 > 3 {
						t.Fatalf("%d, %v", n, err)
					}
					if i == 50 {
						c.fail(t, all[1])
					}
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("the other stores gave numbers after %v", took)
				}
				a.Close()
				time.Sleep(time.Hour) // silent stores end
				for i, st := range all {
					if n := st.pinned(); n != 0 {
						t.Errorf("store %d has %d pins", i, n)
					}
				}
			})
		})
	}
}

// A store that lost numbers, and did not answer when it was told, is told
// while another one gives numbers.
func TestAnyTellsALossLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, a := trio(t, Definition{MinRange: 1, MaxRange: 1})
		was := all[0].record(t, name)
		expect(t, a, 1)
		synctest.Wait()
		all[0].put(t, was)
		suspect := first("suspect", errFault)
		all[0].fail(func(op string) error { time.Sleep(time.Second); return suspect(op) }, nil)
		all[0].isTold(t, func() {
			for range 9 {
				must(a.Next(t.Context()))
				time.Sleep(time.Second)
			}
		})
		if time.Sleep(time.Hour); all[0].most > 1 {
			t.Errorf("a store had %d calls at the same time", all[0].most)
		}
	})
}

// While the store in use is slow, the others are asked; while it is not,
// they are left alone.
func TestAnyAsksOthersWhenOneIsSlow(t *testing.T) {
	for _, c := range []struct {
		slow  time.Duration
		first bool
	}{{hedge / 4, true}, {2 * hedge, false}} {
		synctest.Test(t, func(t *testing.T) {
			all, a := trio(t, Definition{})
			all[0].fail(func(string) error { time.Sleep(c.slow); return nil }, nil)
			if n, err := a.Next(t.Context()); err != nil || n == 1 != c.first {
				t.Errorf("%d, %v", n, err)
			}
			a.Close()
			alone := openAny(t, all[0])
			wantErr(t, errOf(alone.from.take(t.Context(), 1, 1)), nil, "the only store is slow")
			alone.Close()
			time.Sleep(time.Hour) // what was asked ends
		})
	}
}

// When no store gives numbers and no waiting mends it, calls return at
// once, and name each store.
func TestAnyEnds(t *testing.T) {
	all, a := trio(t, Definition{Max: new(int64(12)), MinRange: 1, MaxRange: 1})
	for range 8 { // 1 6 11, 2 7 12, 3 8
		must(a.Next(t.Context()))
	}
	_, err := a.Next(t.Context())
	if !errors.Is(err, ErrEnded) || strings.Count(err.Error(), "of 3: ") != 3 {
		t.Errorf("%v", err)
	}
	wantErr(t, errOf(a.TryNext()), ErrEnded, "")
	if n, err := a.Fill(t.Context(), make([]int64, 3)); n != 0 || !errors.Is(err, ErrEnded) {
		t.Errorf("%d, %v", n, err)
	}
	noError(t, Update(t.Context(), all[1], name, Changes{Max: new(int64(17))}))
	expect(t, a, 17)
}

// A call waits as long as its ctx for stores that do not answer, and says
// what each said.
func TestAnyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, a := trio(t, Definition{MinRange: 1, MaxRange: 1})
		all[2].become("another")
		for _, st := range all[:2] {
			st.fail(always("add", errFault), nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := a.Next(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrRolledBack) ||
			time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		for i := range all {
			if want := fmt.Sprintf("store %d of 3: ", i+1); !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
		go func() { // mended while a call waits
			time.Sleep(time.Minute)
			wantErr(t, Confirm(t.Context(), all[2], name, Confirmation{Floor: new(int64(100))}), nil, "confirmed")
		}()
		expect(t, a, 103)
	})
}

// Close ends calls that wait, and gives back what a dense sequence holds in
// each store.
func TestAnyClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, a := trio(t, Definition{Mode: Dense})
		expect(t, a, 1)
		synctest.Wait()
		if n := all[0].record(t, name).From; n != 2000 {
			t.Fatalf("%d are taken", n)
		}
		if got := a.Status(); got.Left != *a.Definition().Max/5+1-2000 {
			t.Errorf("%+v", got)
		}
		b := openAny(t, all...)
		for _, st := range all {
			st.fail(always("add", errFault), nil)
		}
		failed := make(chan error)
		go func() {
			_, err := b.Next(t.Context())
			failed <- err
		}()
		synctest.Wait()
		for _, x := range []*Sequence{a, a, b, b} {
			noError(t, x.Close())
		}
		wantErr(t, <-failed, ErrClosed, "")
		if n := all[0].record(t, name).From; n != 1 {
			t.Errorf("%d are taken", n)
		}
		wantErr(t, errOf(a.Next(t.Context())), ErrClosed, "")
		for i, st := range all {
			if n := st.pinned(); n != 0 {
				t.Errorf("store %d has %d pins", i, n)
			}
		}
		_, c := trio(t, Definition{Mode: Dense})
		expect(t, c, 1)
		synctest.Wait()
		for _, m := range c.from.(*several).members {
			m.store.(*shaky).fail(always("swap", errFault), nil)
		}
		for range 2 {
			wantErr(t, c.Close(), errFault, "")
		}
	})
}

// What a dense sequence took of a store goes back to that store only.
func TestAnyGivesBackWhereItTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, a := trio(t, Definition{Mode: Dense, MinRange: 10, MaxRange: 10})
		expect(t, a, 1)
		synctest.Wait()
		all[0].fail(always("add", errFault), nil)
		for n := int64(6); n < 100; n += 5 {
			expect(t, a, n)
		}
		expect(t, a, 2)
		noError(t, a.Close())
		if n, m := all[0].record(t, name).From, all[1].record(t, name).From; n != 20 || m != 1 {
			t.Errorf("%d and %d are taken", n, m)
		}
	})
}

// Close waits for the numbers of a slow store, so that they go back, too.
// The other stores do not wait for it, nor does Close wait for ever.
func TestAnyGivesBackLateNumbers(t *testing.T) {
	for slow, late := range map[time.Duration]int64{time.Second: 20, time.Minute: 30} {
		synctest.Test(t, func(t *testing.T) {
			all, a := trio(t, Definition{Mode: Dense, MinRange: 10, MaxRange: 10})
			expect(t, a, 1)
			synctest.Wait()
			all[0].fail(nil, func(op string) error {
				if op == "add" {
					time.Sleep(slow)
				}
				return nil
			})
			for n := int64(6); n < 100; n += 5 {
				expect(t, a, n)
			}
			expect(t, a, 2)
			err := a.Close()
			if gap := err != nil && strings.Contains(err.Error(), "store 1 of 3 does not answer"); gap != (late > 20) {
				t.Errorf("after %v: %v", slow, err)
			}
			n, pins := all[0].record(t, name).From, all[0].pinned() // a store that is asked keeps its connection
			if m := all[1].record(t, name).From; n != late || m != 1 || (pins > 0) != (late > 20) {
				t.Errorf("after %v: %d and %d are taken, and there are %d pins", slow, n, m, pins)
			}
			time.Sleep(time.Hour)
		})
	}
}

// An answer that no take waited for is held, too: with the rest of its
// store it is two of the largest ranges at most.
func TestAnyHoldsTwoRangesOfAStore(t *testing.T) {
	_, s := trio(t, Definition{MinRange: 10, MaxRange: 10})
	expect(t, s, 1)
	settle(t, s) // 19 are left
	a := s.from.(*several)
	for _, c := range []struct {
		m    *member
		n    int64
		held bool
	}{{a.members[0], 2, false}, {a.members[0], 1, true}, {a.members[1], 21, false}, {a.members[1], 20, true}} {
		a.mu.Lock()
		take := func(context.Context) (span, error) { return span{int64(c.m.number), 50, 50 + c.n}, nil }
		a.askInBackground(c.m, take)
		if a.awaitAnswer(t.Context(), c.m); c.m.late.len() > 0 != c.held {
			t.Errorf("of %d late ordinals of store %d are held %d", c.n, c.m.number, c.m.late.len())
		}
		a.mu.Unlock()
	}
	a.members[2].late = span{3, 50, 71} // it answers at the same time as another one
	for _, want := range []int64{1, 20, 500} {
		if got := must(a.take(t.Context(), 1, 500)); got.len() != want {
			t.Errorf("a take got %d ordinals, want %d", got.len(), want)
		}
	}
}

// A store that never answered gave no numbers, so nothing of it is a gap.
func TestAnyCloseBesideAStoreThatNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newStores(2)
		createAny(t, 5, Definition{Mode: Dense}, all...)
		all[1].fail(func(string) error { time.Sleep(time.Hour); return nil }, nil)
		a := openAny(t, all...)
		expect(t, a, 1)
		noError(t, a.Close())
		time.Sleep(9 * time.Hour)
	})
}
