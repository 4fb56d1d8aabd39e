package workerid

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowfence/snowfence"
)

func TestAFenceServesOneGenerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		r := registrar(t, s, Options{})
		w := one(t, r)
		f := must(w.Fence(scheme()))
		if _, err := w.Fence(scheme()); err == nil {
			t.Error("a number has two fences")
		}
		g := generator(t, f, snowfence.Config{}, 0)
		wantErr(t, errOf(snowfence.New(snowfence.Config{Fence: f})), snowfence.ErrBound, "a second generator")
		works(t, g)
		if err := g.Close(); err != nil || w.Err() == nil {
			t.Error(err, w.Err())
		}
		wantErr(t, errOf(w.Fence(scheme())), ErrClosed, "a fence over what was given back")
		if _, ok := f.Held(0); ok || len(r.all()) > 0 {
			t.Error("what was given back is granted or kept", r.all())
		}
		wantErr(t, errOf(snowfence.New(snowfence.Config{Fence: f})), ErrClosed, "a closed fence")
	})
}

// TestAGrantThatWasHandedOutIsForNobodyElse: its generator ended without
// giving it back.
func TestAGrantThatWasHandedOutIsForNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		f := fence(t, registrar(t, s, Options{}))
		unbind := must(f.Bind(func() int64 { return 0 }))
		if _, ok := f.Held(0); !ok {
			t.Fatal("no grant")
		}
		end := s.expiry(63)
		unbind()
		if _, ok := f.Held(0); ok || s.expiry(63) != end {
			t.Error("the grant is handed out again, or its number is free")
		}
		if err := f.Close(); err != nil || s.expiry(63) != end {
			t.Error("it is given back", err)
		}
	})
}

func TestReleaseOfAnotherGrantKeepsTheTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		f := fence(t, registrar(t, s, Options{}))
		g, ok := f.Held(0)
		if !ok {
			t.Fatal("no grant")
		}
		end := s.expiry(63)
		g.From--
		if err := f.Release(t.Context(), g, g.From); err != nil || s.expiry(63) != end {
			t.Error("the number is free", err)
		}
		if err := f.Close(); err != nil || s.expiry(63) != end {
			t.Error("ticks that were handed out without a generator are given back", err)
		}
	})
}

func TestSchemesThatDoNotFit(t *testing.T) {
	l := snowfence.Default()
	l.Tick = 2 * time.Second
	slow := must(snowfence.NewScheme(l))
	for _, test := range []struct {
		o    Options
		s    *snowfence.Scheme
		want string
	}{
		{Options{}, nil, "nil"},
		{Options{Max: 1024}, scheme(), "lower Max"},
		{Options{Max: 1023, TTL: 5 * time.Second}, slow, "three ticks"},
		{Options{Max: 1023, TTL: 6 * time.Second}, slow, ""},
	} {
		err := registrar(t, newSimulated(), test.o).fits(test.s)
		if got := ""; err != nil {
			got = err.Error()
			if test.want == "" || !strings.Contains(got, test.want) {
				t.Errorf("%+v: %v", test.o, err)
			}
		} else if test.want != "" {
			t.Errorf("%+v is accepted", test.o)
		}
	}
}

// TestClocksThatDiffer: a generator behind Redis waits, and one too far
// ahead says so.
func TestClocksThatDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		r := registrar(t, s, Options{})
		f := fence(t, r)
		g := generator(t, f, snowfence.Config{}, -700*time.Millisecond)
		start := time.Now()
		works(t, g)
		if d := time.Since(start); d < 700*time.Millisecond {
			t.Errorf("made an ID after %v, before the grant began", d)
		}
		noError(t, g.Close())
		f = fence(t, r)
		_, err := snowfence.New(snowfence.Config{Fence: f, Time: func() (time.Time, time.Duration) {
			return time.Now().Add(20 * time.Second), time.Since(start)
		}})
		if !errors.Is(err, snowfence.ErrFenced) ||
			!strings.HasSuffix(err.Error(), "ahead of Redis, more than the TTL of 15s") {
			t.Error(err)
		}
		// Nearer than the TTL it works as long as Redis answers.
		g = generator(t, fence(t, r), snowfence.Config{}, 12*time.Second)
		for range 10 {
			time.Sleep(2 * time.Second)
			if _, err := g.TryNext(); err != nil && !errors.Is(err, snowfence.ErrFenced) {
				t.Fatal(err)
			}
		}
		noError(t, g.Close())
	})
}

func TestTheLayoutEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := snowfence.Default()
		l.Epoch = time.Date(1999, 12, 31, 23, 59, 50, 0, time.UTC) // simulated clocks begin 10 s later
		l.Fields = []snowfence.Field{{Name: "time", Bits: 14}, {Name: "node", Bits: 10}, {Name: "sequence", Bits: 12}}
		s := must(snowfence.NewScheme(l))
		f := must(registrar(t, newSimulated(), Options{}).Fence(t.Context(), s))
		if g, ok := f.Held(12_000); !ok || g.Until != s.MaxTick()+1 {
			t.Error(g, ok)
		}
		wantErr(t, errOf(f.Grant(t.Context(), s.MaxTick()+1)), snowfence.ErrLifetime, "the end")
		noError(t, f.Close())
	})
}

// TestUnRegisterEndsAFenceThatLooksForANumber, which would take one again
// otherwise.
func TestUnRegisterEndsAFenceThatLooksForANumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated()
		r := registrar(t, s, Options{})
		f := fence(t, r)
		g := generator(t, f, snowfence.Config{}, 0)
		w := worker(t, f)
		s.del(63)
		noticed(t, w)
		time.Sleep(time.Second)
		noError(t, r.UnRegister())
		time.Sleep(time.Minute)
		if len(r.all()) > 0 || s.taken() > 0 {
			t.Error("a number is taken")
		}
		fails(t, g, snowfence.ErrFenced)
		noError(t, g.Close())
	})
}

func TestTicksShorterThanAMillisecond(t *testing.T) {
	l := snowfence.Default()
	l.Tick = 300 * time.Microsecond
	f := &Fence{layout: l}
	for _, tick := range []int64{0, 1, 3, 4, 10, 11} {
		start, ms := l.TimeOf(tick), f.start(tick)
		if time.UnixMilli(ms).Before(start) || !time.UnixMilli(ms-1).Before(start) {
			t.Errorf("tick %d starts at %v, and not at %v", tick, start, time.UnixMilli(ms))
		}
	}
}
