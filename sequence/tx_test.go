package sequence

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
)

const noon = "2026-11-22T12:00:00Z"

// strict returns a store with a strict sequence, and a context at noon.
func strict(t *testing.T, d Definition) (context.Context, *shaky) {
	t.Helper()
	ctx, _ := clockAt(t, noon)
	st := newShaky()
	d.Mode = Strict
	noError(t, Create(ctx, st, name, d))
	return ctx, st
}

// wantTx takes numbers in transactions, and compares their texts.
func wantTx(t *testing.T, ctx context.Context, st store.Store, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if s, err := NextTx(ctx, st, name, 0); s.Text != text || err != nil {
			t.Errorf("got %+v, %v, not %s", s, err, text)
		}
	}
}

func wantErrTx(t *testing.T, ctx context.Context, st store.Store, kind error, text string) {
	t.Helper()
	s, err := NextTx(ctx, st, name, 0)
	if s != (Serial{}) || !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %+v, %v, not %v with %q", s, err, kind, text)
	}
}

func TestNextTx(t *testing.T) {
	ctx, st := strict(t, Definition{Start: new(int64(10)), Step: -5, Max: new(int64(0))})
	wantTx(t, ctx, st, "10")
	if gets, adds, swaps := st.count("get"), st.count("add"), st.count("swap"); gets != 2 || adds != 1 || swaps != 1 {
		t.Errorf("%d reads, %d additions, %d swaps, with Create's", gets, adds, swaps)
	}
	if s, err := NextTx(ctx, st, name, 0); err != nil || s != (Serial{"5", 0, 5}) {
		t.Errorf("%+v, %v", s, err)
	}
	wantTx(t, ctx, st, "0")
	wantErrTx(t, ctx, st, ErrEnded, "raise max")
	noError(t, Delete(ctx, st, name))
	wantErrTx(t, ctx, st, ErrNoSequence, "create it again")
	wantErrTx(t, ctx, newShaky(), ErrNoSequence, "create it")
	for _, mode := range []Mode{Fast, Dense} {
		st, _ := made(t, Definition{Mode: mode})
		st.count("add")
		wantErrTx(t, ctx, st, lease.ErrRefused, "strict sequence that starts above")
		if st.count("add") != 0 {
			t.Error("it took a number")
		}
	}
}

// A transaction begins a period, and closes none.
func TestNextTxOfDays(t *testing.T) {
	ctx, st := strict(t, Definition{Pattern: "RE-{year}{month}{day}-{n:3}", Zone: "Asia/Shanghai"})
	take := func(at, want string) {
		t.Helper()
		ctx, _ := clockAt(t, at)
		wantTx(t, ctx, st, want)
	}
	take("2026-11-22T15:59:59Z", "RE-20261122-001")
	take("2026-11-22T15:59:59Z", "RE-20261122-002")
	take("2026-11-22T16:00:00Z", "RE-20261123-001")
	take("2026-11-22T15:59:59Z", "RE-20261122-003")
	next, _ := clockAt(t, "2026-11-22T16:00:00Z")
	if s, err := NextTx(next, st, name, 20261122); err != nil || s.Text != "RE-20261122-004" {
		t.Errorf("%+v, %v", s, err)
	}
	take("2026-11-22T16:00:00Z", "RE-20261123-002")
	at, _ := clockAt(t, "2026-11-22T16:30:00Z")
	noError(t, Confirm(at, st, name, Confirmation{Floor: new(int64(50))}))
	take("2026-11-22T16:30:00Z", "RE-20261123-050")
	take("2026-11-22T16:30:00Z", "RE-20261123-051")
	take("2026-11-24T12:00:00Z", "RE-20261124-050")
	at, _ = clockAt(t, "2026-11-21T12:00:00Z")
	wantErrTx(t, at, st, ErrPeriod, "closed")
	noError(t, Update(ctx, st, name, Changes{Max: new(int64(600))}))
	take("2026-11-22T16:30:00Z", "RE-20261123-052")

	for period, want := range map[int64]string{
		20261121: "was closed", 20261126: "more than one period ahead", 20261100: "is no period",
	} {
		at, _ := clockAt(t, "2026-11-24T12:00:00Z")
		if s, err := NextTx(at, st, name, period); !errors.Is(err, ErrPeriod) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %+v, %v", period, s, err)
		}
	}

	_, st = strict(t, Definition{})
	wantErr(t, errOf(NextTx(ctx, st, name, 2026)), ErrDated, "")

	_, st = strict(t, Definition{Pattern: "{yy}-{n}"})
	at, _ = clockAt(t, "2100-01-01T00:00:00Z")
	wantErrTx(t, at, st, ErrEnded, "2099")
}

// What others do between the read and the take sends the transaction back
// to its beginning, unless they took the last number. A number that is
// taken and not used would be a gap.
func TestNextTxThatMeetsOthers(t *testing.T) {
	plain, yearly := Definition{Max: new(int64(2))}, Definition{Pattern: "{year}-{n}"}
	confirm := func(ctx context.Context, st store.Store) error {
		return Confirm(ctx, st, name, Confirmation{Floor: new(int64(2))})
	}
	for what, c := range map[string]struct {
		d     Definition
		op    string
		other func(ctx context.Context, st store.Store) error
		kind  error
	}{
		"a change": {plain, "add", func(ctx context.Context, st store.Store) error {
			return Update(ctx, st, name, Changes{Max: new(int64(9))})
		}, ErrRetry},
		"a deletion":     {plain, "add", func(ctx context.Context, st store.Store) error { return Delete(ctx, st, name) }, ErrRetry},
		"a confirmation": {yearly, "add", confirm, ErrRetry},
		"who begins the period": {yearly, "swap", func(ctx context.Context, st store.Store) error {
			_, err := NextTx(ctx, st, name, 0)
			return err
		}, ErrRetry},
		"the last number": {plain, "add", func(ctx context.Context, st store.Store) error {
			_, _, err := store.Add(ctx, st,
				store.Addition{Key: keyOf(name), N: 1, Limit: 2, Generation: 1, Nonce: "other"})
			return err
		}, ErrEnded},
		"an older record": {plain, "add", func(ctx context.Context, st store.Store) error {
			rs, _, err := st.Get(ctx, []store.Key{keyOf(name)})
			if err != nil {
				return err
			}
			old := rs[0]
			old.From--
			old.Nonce = "old"
			_, err = store.Put(ctx, st, store.Write{Old: rs[0].Nonce, New: old})
			return err
		}, ErrRolledBack},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, st := strict(t, c.d)
			if c.d.Pattern == "" {
				wantTx(t, ctx, st, "1")
			}
			st.fail(first(c.op, nil, func() {
				noError(t, c.other(ctx, st.Store))
			}), nil)
			wantErrTx(t, ctx, st, c.kind, name)
		})
	}
}

// A transaction ends at whichever call the store does not answer.
func TestNextTxOfAStoreThatFails(t *testing.T) {
	for _, op := range []string{"get 1", "get 2", "get 3", "get 4", "swap 1", "swap 2", "add 1"} {
		ctx, st := strict(t, Definition{Pattern: "{year}-{n}", AfterFailover: 100})
		st.become("another")
		n := int(op[len(op)-1] - '0')
		st.fail(func(o string) error {
			if o == op[:len(op)-2] {
				if n--; n == 0 {
					return errFault
				}
			}
			return nil
		}, nil)
		wantErrTx(t, ctx, st, errFault, name)
		if n > 0 {
			t.Errorf("there is no %s", op)
		}
	}
}

// A machine may know fewer zones than the one on which the sequence was
// made.
func TestNextTxInAZoneThatIsNotThere(t *testing.T) {
	ctx, st := strict(t, Definition{Pattern: "{year}-{n}", Zone: "Asia/Shanghai"})
	r := st.record(t, name)
	was := r.Nonce
	r.Data = strings.ReplaceAll(r.Data, "Asia/Shanghai", "Asia/Nowhere")
	must(store.Put(ctx, st, store.Write{Old: was, New: r}))
	wantErrTx(t, ctx, st, lease.ErrInvalid, "import time/tzdata")
}
