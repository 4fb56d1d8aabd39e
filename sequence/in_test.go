package sequence

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/world"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

// strict returns a store with a strict sequence.
func strict(t *testing.T, d Definition) *shaky {
	t.Helper()
	st := newShaky()
	d.Mode = Strict
	if err := Create(t.Context(), st, "orders", d); err != nil {
		t.Fatal(err)
	}
	return st
}

func wantIn(t *testing.T, st lease.Store, number int64) {
	t.Helper()
	if n, err := NextIn(t.Context(), st, "orders"); n != number || err != nil {
		t.Errorf("got %d, %v, not %d", n, err, number)
	}
}

func wantErrIn(t *testing.T, st lease.Store, kind error, text string) {
	t.Helper()
	n, err := NextIn(t.Context(), st, "orders")
	if n != 0 || !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %d, %v, not %v with %q", n, err, kind, text)
	}
}

func TestNextIn(t *testing.T) {
	st := strict(t, Definition{Start: new(int64(10)), Step: -5, Max: new(int64(0))})
	wantIn(t, st, 10)
	if gets, adds, swaps := st.count("get"), st.count("add"), st.count("swap"); gets < 2 || adds != 1 || swaps != 1 {
		t.Errorf("%d reads, %d additions, %d swaps", gets, adds, swaps)
	}
	wantIn(t, st, 5)
	wantIn(t, st, 0)
	st.count("add")
	wantErrIn(t, st, ErrEnded, "raise max")
	if st.count("add") != 0 {
		t.Error("it asked for a number that is not there")
	}
	if err := Delete(t.Context(), st, "orders"); err != nil {
		t.Fatal(err)
	}
	wantErrIn(t, st, ErrNoSequence, "create it again")
	if st.count("add") != 0 {
		t.Error("it asked a deleted sequence")
	}
}

func TestNextInWantsAStrictSequence(t *testing.T) {
	for _, mode := range []Mode{Fast, Dense} {
		st := newShaky()
		if err := Create(t.Context(), st, "orders", Definition{Mode: mode}); err != nil {
			t.Fatal(err)
		}
		wantErrIn(t, st, lease.ErrRefused, "strict and starts above")
		if st.count("add") != 0 {
			t.Error("it took a number")
		}
	}
	wantErrIn(t, newShaky(), ErrNoSequence, "create it")
}

// What others do between the read and the take sends the transaction back to its beginning.
func TestNextInThatMeetsOthers(t *testing.T) {
	last := func(t *testing.T, st *shaky) {
		if _, err := store.Add(t.Context(), st.Store, store.Addition{
			Key: keyOf("orders"), N: 1, Limit: 2, Generation: 1, Nonce: "other",
		}); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, st *shaky)
		kind      error
	}{
		"a change": {func(t *testing.T, st *shaky) {
			if err := Change(t.Context(), st.Store, "orders", Changes{Max: new(int64(9))}); err != nil {
				t.Error(err)
			}
		}, ErrRetry},
		"a deletion": {func(t *testing.T, st *shaky) {
			if err := Delete(t.Context(), st.Store, "orders"); err != nil {
				t.Error(err)
			}
		}, ErrRetry},
		"the last number": {last, ErrEnded},
		"an older record": {func(t *testing.T, st *shaky) {
			rs, err := st.Store.Get(t.Context(), []lease.Key{keyOf("orders")})
			if err != nil {
				t.Error(err)
				return
			}
			old := rs[0]
			old.From--
			old.Nonce = "old"
			if err := st.Store.Swap(t.Context(), []lease.Write{{Old: rs[0].Nonce, New: old}})[0]; err != nil {
				t.Error(err)
			}
		}, ErrRetry},
		"a store that fails": {func(*testing.T, *shaky) {}, errFault},
	} {
		t.Run(name, func(t *testing.T) {
			st := strict(t, Definition{Max: new(int64(2))})
			wantIn(t, st, 1)
			var err error
			if c.kind == errFault {
				err = errFault
			}
			st.fail(first("add", err, func() { c.meanwhile(t, st) }), nil)
			wantErrIn(t, st, c.kind, "orders")
		})
	}
}

func TestNextInAnotherStore(t *testing.T) {
	for name, c := range map[string]struct {
		after int64
		want  int64 // 0 for an error
	}{"stop": {Stop, 0}, "trust": {Trust, 2}, "skip": {100, 103}} {
		t.Run(name, func(t *testing.T) {
			st := strict(t, Definition{AfterFailover: c.after})
			wantIn(t, st, 1)
			st.become("another")
			if c.want == 0 {
				wantErrIn(t, st, ErrRolledBack, "confirm the sequence with it")
				if err := Confirm(t.Context(), st, "orders", Confirmation{Floor: new(int64(7))}); err != nil {
					t.Fatal(err)
				}
				wantIn(t, st, 7)
				return
			}
			wantIn(t, st, c.want)
			wantIn(t, st, c.want+1)
			st.fail(always("identity", errFault), nil)
			wantErrIn(t, st, errFault, "orders")
		})
	}
}

// Numbers that are skipped may be the last ones, and others may be at it too.
func TestNextInSkips(t *testing.T) {
	st := strict(t, Definition{AfterFailover: 100, Max: new(int64(50))})
	st.become("another")
	wantErrIn(t, st, ErrEnded, "raise max")

	st = strict(t, Definition{AfterFailover: 100})
	st.become("another")
	st.fail(first("swap", lease.ErrLost), nil)
	wantErrIn(t, st, ErrRetry, "skipped")
	st.fail(first("swap", errFault), nil)
	wantErrIn(t, st, errFault, "orders")
	st.fail(nthCall("get", 2), nil)
	wantErrIn(t, st, errFault, "orders")

	st = strict(t, Definition{Pattern: "{year}-{n}", AfterFailover: 100})
	if _, err := SerialIn(t.Context(), st, "orders"); err != nil {
		t.Fatal(err)
	}
	st.become("another")
	st.fail(nthCall("swap", 2), nil)
	if s, err := SerialIn(t.Context(), st, "orders"); !errors.Is(err, errFault) {
		t.Errorf("%+v, %v", s, err)
	}
}

// nthCall fails the operation when it is called for the nth time.
func nthCall(op string, n int) func(string) error {
	return func(o string) error {
		if o == op {
			if n--; n == 0 {
				return errFault
			}
		}
		return nil
	}
}

// on returns a context whose clock stands still.
func on(t *testing.T, date string) context.Context {
	t.Helper()
	at, err := time.Parse(time.DateTime, date)
	if err != nil {
		t.Fatal(err)
	}
	return world.With(t.Context(), frozen{world.From(t.Context()), at})
}

type frozen struct {
	world.World
	at time.Time
}

func (f frozen) Now() time.Time { return f.at }

func TestSerialIn(t *testing.T) {
	st := strict(t, Definition{Pattern: "RE-{year}{month}{day}-{n:3}", Zone: "Asia/Shanghai"})
	take := func(date, want string) {
		t.Helper()
		s, err := SerialIn(on(t, date), st, "orders")
		if err != nil || s.Text != want {
			t.Errorf("at %s: %+v, %v, not %s", date, s, err, want)
		}
	}
	take("2026-11-22 15:59:59", "RE-20261122-001")
	take("2026-11-22 15:59:59", "RE-20261122-002")
	take("2026-11-22 16:00:00", "RE-20261123-001")
	take("2026-11-22 15:59:59", "RE-20261122-003")
	err := Confirm(on(t, "2026-11-22 16:30:00"), st, "orders", Confirmation{Floor: new(int64(50))})
	if err != nil {
		t.Fatal(err)
	}
	take("2026-11-22 16:30:00", "RE-20261123-050")
	take("2026-11-22 16:30:00", "RE-20261123-051")
	take("2026-11-24 12:00:00", "RE-20261124-050")
	if s, err := SerialIn(on(t, "2026-11-21 12:00:00"), st, "orders"); !errors.Is(err, ErrPeriod) {
		t.Errorf("a period that was closed: %+v, %v", s, err)
	}
	if n, err := NextIn(t.Context(), st, "orders"); !errors.Is(err, ErrDated) {
		t.Errorf("%d, %v", n, err)
	}
	s, err := SerialIn(t.Context(), strict(t, Definition{}), "orders")
	if !errors.Is(err, ErrDated) || !strings.Contains(err.Error(), "use SequenceTx") {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = SerialIn(t.Context(), strict(t, Definition{Pattern: "{yy}-{n}"}), "others")
	if !errors.Is(err, ErrNoSequence) {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = SerialIn(on(t, "2100-01-01 00:00:00"), strict(t, Definition{Pattern: "{yy}-{n}"}), "orders")
	if !errors.Is(err, ErrEnded) {
		t.Errorf("%+v, %v", s, err)
	}
}

// A period goes on where it was when the definition is another one.
func TestSerialInAfterAChange(t *testing.T) {
	at := on(t, "2026-11-22 12:00:00")
	st := strict(t, Definition{Pattern: "{year}-{n}"})
	for n := range int64(4) {
		if err := Change(t.Context(), st, "orders", Changes{Max: new(100 + n)}); err != nil {
			t.Fatal(err)
		}
		if s, err := SerialIn(at, st, "orders"); err != nil || s.N != n+1 {
			t.Errorf("%+v, %v", s, err)
		}
		rs, err := st.Get(t.Context(), []lease.Key{periodKey("orders", 2026)})
		if err != nil || rs[0].Revision != 2*(n+1) {
			t.Errorf("after %d changes and numbers: %+v, %v", n+1, rs, err)
		}
	}
}

// A machine may know fewer zones than the one on which the sequence was made.
func TestSerialInAZoneThatIsNotThere(t *testing.T) {
	st := strict(t, Definition{Pattern: "{year}-{n}", Zone: "Asia/Shanghai"})
	rs, err := st.Get(t.Context(), []lease.Key{keyOf("orders")})
	if err != nil {
		t.Fatal(err)
	}
	r := rs[0]
	r.Data = strings.ReplaceAll(r.Data, "Asia/Shanghai", "Asia/Nowhere")
	if err := st.Swap(t.Context(), []lease.Write{{Old: r.Nonce, New: r}})[0]; err != nil {
		t.Fatal(err)
	}
	if s, err := SerialIn(t.Context(), st, "orders"); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("%+v, %v", s, err)
	}
}

// Others begin the period, or change the definition while it is taken from.
func TestSerialInThatMeetsOthers(t *testing.T) {
	d := Definition{Pattern: "{year}-{n:1}"}
	at := on(t, "2026-11-22 12:00:00")
	for name, c := range map[string]struct {
		op    string
		fault error
		also  func(st *shaky)
		kind  error
	}{
		"begun":    {"swap", lease.ErrLost, nil, ErrRetry},
		"fails":    {"swap", errFault, nil, errFault},
		"not read": {"get", errFault, nil, errFault},
		"confirmed": {"add", nil, func(st *shaky) {
			if err := Confirm(at, st.Store, "orders", Confirmation{Floor: new(int64(5))}); err != nil {
				t.Error(err)
			}
		}, ErrRetry},
	} {
		t.Run(name, func(t *testing.T) {
			st := strict(t, d)
			var also []func()
			if c.also != nil {
				also = append(also, func() { c.also(st) })
			}
			st.fail(first(c.op, c.fault, also...), nil)
			if s, err := SerialIn(at, st, "orders"); !errors.Is(err, c.kind) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	st := strict(t, d)
	for n := range int64(9) {
		if s, err := SerialIn(at, st, "orders"); err != nil || s.N != n+1 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if s, err := SerialIn(at, st, "orders"); !errors.Is(err, ErrEnded) {
		t.Errorf("%+v, %v", s, err)
	}
}

// A store that fails at the record of the period, or when the definition is read again.
func TestSerialInOfAStoreThatFails(t *testing.T) {
	at := on(t, "2026-11-22 12:00:00")
	for nth := range 3 {
		st := strict(t, Definition{Pattern: "{year}-{n}"})
		st.fail(nthCall("get", nth+1), nil)
		if s, err := SerialIn(at, st, "orders"); !errors.Is(err, errFault) || s != (Serial{}) {
			t.Errorf("at read %d: %+v, %v", nth, s, err)
		}
	}
}

func TestSerialInSkips(t *testing.T) {
	at := on(t, "2026-11-22 12:00:00")
	st := strict(t, Definition{Pattern: "{year}-{n}", AfterFailover: 100})
	for _, want := range []int64{1, 2} {
		if s, err := SerialIn(at, st, "orders"); err != nil || s.N != want {
			t.Errorf("%+v, %v", s, err)
		}
	}
	st.become("another")
	for _, want := range []int64{104, 105} {
		if s, err := SerialIn(at, st, "orders"); err != nil || s.N != want {
			t.Errorf("%+v, %v", s, err)
		}
	}
}
