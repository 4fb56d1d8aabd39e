package workerid

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestExhaustionIsAnErrorAfterABoundedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		s.keys[1], s.keys[2] = -1, -1
		r := registrar(t, s, Options{Min: 1, Max: 3})
		first := one(t, r)
		start := time.Now()
		got, err := r.RegisterMany(t.Context(), 2)
		if !errors.Is(err, ErrTaken) || len(got) != 0 {
			t.Fatal(got, err)
		}
		if d := time.Since(start); d < 16*time.Second || d > 20*time.Second {
			t.Errorf("gave up after %v", d)
		}
		time.AfterFunc(3*time.Second, func() { s.del(1) }) // another program gives back meanwhile
		got, err = r.RegisterMany(t.Context(), 2)
		if !errors.Is(err, ErrTaken) || len(got) != 1 || got[0].Number() != 1 || !r.Validate(1) || !r.Validate(3) {
			t.Fatal(got, err)
		}
		noError(t, errors.Join(first.Close(), got[0].Close()))
	})
}

func TestARangeInWhichTheOriginalCountsIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		s.count(40)
		if _, err := registrar(t, s, Options{Min: 32}).RegisterOne(t.Context()); !errors.Is(err, ErrShared) {
			t.Fatal(err)
		}
		if s.taken() > 0 {
			t.Error("a number was taken")
		}
		w := one(t, registrar(t, s, Options{Min: 32, Shared: true}))
		if w.Number() != 63 {
			t.Error(w.Number())
		}
		// One that looks for a number passes its last one for a moment.
		time.AfterFunc(300*time.Millisecond, func() { s.count(3) })
		next := one(t, registrar(t, s, Options{Min: 32}))
		for _, edge := range []int64{31, 64} {
			s.count(edge)
			noError(t, one(t, registrar(t, s, Options{Min: 32})).Close())
		}
		for _, edge := range []int64{32, 63} {
			s.count(edge)
			if _, err := registrar(t, s, Options{Min: 32}).RegisterOne(t.Context()); !errors.Is(err, ErrShared) {
				t.Error(edge, err)
			}
		}
		noError(t, errors.Join(w.Close(), next.Close()))
	})
}

func TestOptionsThatCannotBe(t *testing.T) {
	for _, o := range []*Options{
		nil,
		{Min: 0, Max: 63},
		{Min: 0, Max: 63, TTL: 3*time.Second - 1},
		{Min: -1, Max: 63, TTL: time.Minute},
		{Min: 64, Max: 63, TTL: time.Minute},
	} {
		if _, err := newRegistrar(newSimulated(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	must(newRegistrar(newSimulated(), &Options{Min: 63, Max: 63, TTL: minTTL}))
	if _, err := New(nil, &Options{Max: 63, TTL: minTTL}); err == nil {
		t.Error("no client is accepted")
	}
	r := registrar(t, newSimulated(), Options{})
	if _, err := r.RegisterMany(t.Context(), 0); err == nil {
		t.Error("no number is accepted")
	}
}

// TestAnOriginalBetweenItsGetAndItsSet plays one that read a number as free
// before we set it.
func TestAnOriginalBetweenItsGetAndItsSet(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond, 1500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulated()
			var set atomic.Int64
			s.hook(nil, func(op string, number int64) error {
				if op == "take" && number == 63 {
					time.AfterFunc(delay, func() {
						s.set(63, 7*time.Second)
						set.Store(s.expiry(63))
					})
				}
				return nil
			})
			w := one(t, registrar(t, s, Options{}))
			if w.Number() != 62 {
				t.Errorf("delay %v: took %d", delay, w.Number())
			}
			if got, want := s.expiry(63), set.Load(); got != want || want == 0 {
				t.Errorf("delay %v: the key of the original expires at %d, not %d", delay, got, want)
			}
			noError(t, w.Close())
		})
	}
}

func TestNoNumberIsUsedBeforeItSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		var taken time.Time
		checks := 0
		s.hook(nil, func(op string, _ int64) error {
			switch op {
			case "take":
				taken = time.Now()
			case "move":
				checks++
			}
			return nil
		})
		r := registrar(t, s, Options{})
		time.AfterFunc(1999*time.Millisecond, func() {
			if r.Validate(63) {
				t.Error("a number that settles is valid")
			}
			for _, w := range r.all() {
				if f, err := w.Fence(scheme()); err != nil {
					t.Error(err)
				} else if g, ok := f.Held(0); ok {
					t.Error("a number that settles is granted", g)
				}
			}
		})
		w := one(t, r)
		if d := time.Since(taken); d < 2*time.Second || checks != 2 {
			t.Errorf("used after %v and %d checks", d, checks)
		}
		noError(t, w.Close())
	})
}

// TestAnAnswerThatIsLostTakesNoNumber: the owner of the key is unknown
// then.
func TestAnAnswerThatIsLostTakesNoNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		s.hook(nil, func(op string, _ int64) error {
			if op == "take" {
				return errCut
			}
			return nil
		})
		r := registrar(t, s, Options{})
		if _, err := r.RegisterOne(t.Context()); !errors.Is(err, errCut) || len(r.all()) > 0 {
			t.Fatal(err, r.all())
		}
		s.hook(nil, nil)
		w := one(t, r)
		if w.Number() != 62 {
			t.Error(w.Number())
		}
		noError(t, w.Close())
	})
}
